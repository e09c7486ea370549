// Runs before npm packs this folder. The package.json here names no platform
// package, so a published package could not run; only the folders that
// `npm run packages` lays out are published.
import { stop } from './files.mjs';

const { npm_command: command, npm_config_dry_run: dry } = process.env;
if (command === 'publish' && dry !== 'true') {
  stop(
    'this folder is not for publishing: it names no platform package',
    'npm run packages -- --dist DIR --out DIR, then npm run packages:publish -- DIR',
  );
}
