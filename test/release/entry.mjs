// Validates an entry of the MCP registry with the registry's schema, and the
// hash in it with the bundle:
//
//     node entry.mjs ENTRY SCHEMA BUNDLE
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

import Ajv from 'ajv';
import formats from 'ajv-formats';

const [entry, schema] = process.argv.slice(2, 4).map((name) => JSON.parse(readFileSync(name, 'utf8')));
const ajv = new Ajv({ strict: false, allErrors: true });
formats(ajv);
assert.ok(ajv.validate(schema, entry), ajv.errorsText(null, { separator: '\n' }));
assert.equal(entry.$schema, schema.$id);

const bundle = entry.packages.find((p) => p.registryType === 'mcpb');
assert.equal(bundle.fileSha256, createHash('sha256').update(readFileSync(process.argv[4])).digest('hex'));
for (const p of entry.packages) {
  assert.deepEqual(p.packageArguments, [{ type: 'positional', value: '--stdio' }]);
  const [{ name, isRequired, isSecret }, ...more] = p.environmentVariables;
  const needsKey = p.registryType === 'oci'; // elsewhere login may have stored one
  assert.deepEqual([name, isRequired, isSecret, more], ['OPENAI_API_KEY', needsKey, true, []]);
}
