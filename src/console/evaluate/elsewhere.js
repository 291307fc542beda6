/*
 * elsewhere.js: the same evaluation as a command, as SQL, and as a step of CI.
 */
import { html, useState } from '../view.js';
import { Button } from '../ui/button.js';
import { CopyBox } from '../ui/copy-button.js';
import { Dialog } from '../ui/dialog.js';
import { Tabs } from '../ui/tabs.js';
import { rowText } from './rows.js';

const few = (rows) => rows.length <= 50 && rows.reduce((sum, one) => sum + rowText(one).length, 0) <= 8000;

// GitHub replaces ${{ }} wherever it stands; in JSON it can be written so that nothing is replaced.
const json = (value, space = 2) => JSON.stringify(value, null, space).replace(/\$\{\{/g, '$\\u007b{');
const sql = (text) => `'${text.replace(/\u0000/g, '').replace(/'/g, "''")}'`;

const type = "-H 'Content-Type: application/json'";
const bearer = '-H "Authorization: Bearer $LOGSVC_PAT"';
const route = '"$LOGSVC_URL/api/v1/evaluations/run-adhoc"';
const text = (...lines) => lines.flat().join('\n');
const asFile = (file, value) => [`cat > ${file} <<'END_OF_REQUEST'`, json(value), 'END_OF_REQUEST'];
const addRows = (log) => `jq -Rn --slurpfile rest rest.json '$rest[0] + {rows: [inputs | select(. != "")][-10000:]}' ${log}`;

/** The request as a shell command; more rows than are handy come from rows.log. */
export function asCurl(request, origin)
{
	const { rows, ...rest } = request;
	const head = [`export LOGSVC_URL=${origin}`, '# LOGSVC_PAT: an access token with scope evaluations:run'];
	const curl = `curl -sS --fail-with-body ${bearer} ${type} \\`;
	if (few(rows))
		return text(head, curl, `  ${route} -d @- <<'END_OF_REQUEST'`, json(request), 'END_OF_REQUEST');
	return text(head, asFile('rest.json', rest), `${addRows('rows.log')} |`, curl, `  ${route} -d @-`);
}

/** The request in psql: the findings as rows. */
export function asSql(request)
{
	const inline = few(request.rows);
	const members = [inline ? `rows => ARRAY[${request.rows.map((one) => sql(rowText(one))).join(', ')}]` : "rows => array_remove(string_to_array(:'log', E'\\n'), '')",
		`criteria => ${sql(request.criteria)}`];
	if (request.expectedItems?.length)
		members.push(`items => ${sql(JSON.stringify(request.expectedItems))}`);
	if (request.mode === 'generic_verdict')
		members.push("mode => 'generic_verdict'");
	if (request.model)
		members.push(`model => ${sql(request.model)}`);
	if (request.logCompression === false)
		members.push('log_compression => false');
	if (request.compressionOptions)
		members.push(`compression_options => ${sql(JSON.stringify(request.compressionOptions))}`);
	if (request.citations)
		members.push('citations => true');
	return text('\\getenv token LOGSVC_PAT', "SELECT logsvc.use_token(:'token') \\g /dev/null", inline ? [] : '\\set log `cat rows.log`',
		`SELECT id, status, explanation, confidence${request.citations ? ', row_refs, quotes' : ''} FROM logsvc.evaluate(`, `  ${members.join(',\n  ')});`);
}

/** A step of GitHub Actions that fails when a finding is neither passed nor skipped. */
export function asStep({ rows, ...rest })
{
	const script = text(asFile('rest.json', rest), `${addRows('build.log')} > request.json`,
		`curl -sS --fail-with-body --retry 4 --retry-connrefused --max-time 70 ${bearer} \\`,
		`  ${type} -d @request.json -o verdict.json \\`,
		`  ${route} || { cat verdict.json; exit 2; }`,
		`jq -r '.data.verdict[] | "\\(.status) \\(.id): \\(.explanation)"' verdict.json >> "$GITHUB_STEP_SUMMARY"`,
		`jq -e '.data.verdict | length > 0 and all(.status == "passed" or .status == "skipped")' verdict.json > /dev/null`);
	return text('- name: Judge the log', '  env:', '    LOGSVC_URL: ${{ vars.LOGSVC_URL }}', '    LOGSVC_PAT: ${{ secrets.LOGSVC_PAT }}', '  run: |',
		script.replace(/^(?=.)/gm, '    '));
}

const kinds = [
	{ id: 'curl', label: 'curl', text: asCurl, note: 'Answers the verdict as JSON. With many rows they come from rows.log.' },
	{ id: 'sql', label: 'SQL', text: asSql, note: 'For psql, where the service runs. Pass rows as parameters if statements are logged there.' },
	{ id: 'ci', label: 'CI step', text: asStep, note: 'For GitHub Actions; it needs jq. It reads build.log, fails with 1 when something has not passed, and with 2 when there is no verdict.' },
];

/** The dialog with all of them. */
export function Elsewhere({ request, close })
{
	const [kind, setKind] = useState('curl');
	const shown = kinds.find((one) => one.id === kind);
	return html`<${Dialog} title="Use it elsewhere" size="large" onClose=${close} footer=${html`<${Button} kind="primary" onClick=${close}>Done<//>`}>
		<${Tabs} label="Forms" tabs=${kinds} selected=${kind} onSelect=${setKind}>
			<div class="stack"><p class="muted">${shown.note} It needs a token of your own: the one of this page ends with it.</p>
				<${CopyBox} text=${shown.text(request, window.location.origin)} label=${`Copy as ${shown.label}`} /></div>
		<//>
	<//>`;
}
