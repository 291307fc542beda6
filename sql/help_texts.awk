# help_texts.awk: the sections of docs/help.md as the function that logsvc.help reads.

# A text as SQL writes it, whatever standard_conforming_strings is.
function quoted(text,  escapes)
{
	escapes = gsub(/\\/, "&&", text) ? "E" : ""
	gsub(/'/, "''", text)
	return escapes "'" text "'"
}

function end_section()
{
	sub(/\n+$/, "", text)
	if (topic != "")
		printf "%s\t(%s, %s,\n%s)", (n++ ? ",\n" : ""), quoted(topic), quoted(title), quoted(text)
	text = ""
}

BEGIN {
	print "-- Made of docs/help.md by sql/help_texts.awk."
	print ""
	print "CREATE OR REPLACE FUNCTION logsvc_internal.help_texts(OUT topic text, OUT title text, OUT body text)"
	print "RETURNS SETOF record"
	print "LANGUAGE sql IMMUTABLE PARALLEL SAFE"
	print "BEGIN ATOMIC"
	print "SELECT * FROM (VALUES"
}

/^## / {
	end_section()
	topic = $2
	sub(/:$/, "", topic)
	title = $0
	sub(/^## [a-z]+: /, "", title)
	next
}

topic != "" && (text != "" || $0 != "") { text = text $0 "\n" }

END {
	end_section()
	print ") AS t (topic, title, body);"
	print "END;"
	print "COMMENT ON FUNCTION logsvc_internal.help_texts() IS"
	print "'The topics of logsvc.help and their texts, in the order of docs/help.md';"
}
