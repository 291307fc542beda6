// openapi.js DOCUMENT...: prints for each what two public validators say of it: the JSON Schema of OpenAPI 3.1
// (@seriousme/openapi-schema-validator), and the linter that openapi-typescript uses (@redocly/openapi-core), which
// looks at references, parameters and examples too.
import { readFileSync } from 'node:fs';
import { createConfig, lintFromString } from '@redocly/openapi-core';
import { Validator } from '@seriousme/openapi-schema-validator';

const rules = Object.fromEntries(['struct', 'no-unresolved-refs', 'no-identical-paths', 'operation-operationId-unique',
	'operation-parameters-unique', 'path-parameters-defined', 'path-declaration-must-exist',
	'no-invalid-media-type-examples', 'no-invalid-parameter-examples', 'no-invalid-schema-examples',
	'security-defined'].map(rule => [rule, 'error']));
const config = await createConfig({ rules });

const said = [];
for (const file of process.argv.slice(2)) {
	const source = readFileSync(file, 'utf8');
	const { valid, errors } = await new Validator().validate(JSON.parse(source));
	const problems = await lintFromString({ source, absoluteRef: `/${file}`, config });
	said.push({ valid, errors: errors ?? [],
		problems: problems.map(p => `${p.ruleId}: ${p.message} (${p.location?.[0]?.pointer})`) });
}
console.log(JSON.stringify(said));
