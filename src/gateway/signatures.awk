# signatures.awk: the arguments of the SQL functions that routes name, as JSON by function.
#
#	awk -f src/gateway/signatures.awk src/gateway/routes.def sql/api/*.sql
#
# An argument is {"name", "type", "optional"}.  A route whose function is not found is an error.

# The handlers, from routes.def.
FILENAME ~ /\.def$/ {
	line = $0
	while (match(line, /"logsvc(_internal)?\.[a-z_]+"/))
	{
		wanted[substr(line, RSTART + 1, RLENGTH - 2)] = 1
		line = substr(line, RSTART + RLENGTH)
	}
	next
}

!reading && /^CREATE (OR REPLACE )?FUNCTION logsvc(_internal)?\.[a-z_]+ *\(/ {
	name = $0
	sub(/^CREATE (OR REPLACE )?FUNCTION /, "", name)
	sub(/ *\(.*/, "", name)
	if (!(name in wanted))
		next
	reading = 1
	text = ""
	sub(/^[^(]*\(/, "")
	depth = 1
}

reading {
	sub(/--.*/, "")
	for (i = 1; i <= length($0) && depth > 0; i++)
	{
		c = substr($0, i, 1)
		if (c == "(")
			depth++
		else if (c == ")")
			depth--
		if (depth > 0)
			text = text c
	}
	text = text " "
	if (depth == 0)
	{
		reading = 0
		if (name in found)
			fail("there are two functions " name)
		found[name] = arguments(text)
	}
}

function fail(why)
{
	print "signatures.awk: " why > "/dev/stderr"
	failed = 1
	exit 1
}

# "name type DEFAULT value, ..." as a list.  No default has a comma.
function arguments(text,    parts, words, n, i, w, type, list, optional)
{
	list = ""
	n = split(text, parts, ",")
	for (i = 1; i <= n; i++)
	{
		optional = sub(/ DEFAULT .*/, "", parts[i])
		w = split(parts[i], words, " ")
		if (w == 0)
			continue
		if (w != 2 || words[1] == "OUT")
			fail("arguments of " name " cannot be read: " parts[i])
		gsub(/"/, "", words[1])
		type = words[2] == "int" ? "integer" : words[2]
		list = list (list == "" ? "" : ", ") "{\"name\": \"" words[1] "\", \"type\": \"" type \
			"\", \"optional\": " (optional ? "true" : "false") "}"
	}
	return "[" list "]"
}

END {
	if (failed)
		exit 1
	print "{"
	for (name in wanted)
	{
		if (!(name in found))
			fail("there is no function " name)
		printf "%s\t\"%s\": %s", (n++ ? ",\n" : ""), name, found[name]
	}
	print "\n}"
}
