// npm run build: assembles the files of the main package beside package.json.
// npm run build:clean: removes the old ones first.
import { assemble, clean, npm } from './files.mjs';

if (process.argv.includes('--clean')) clean(npm);
assemble(npm);
