// Writes docs/openapi.json from the routes' schemas: npm run openapi
import { writeFileSync } from 'node:fs';
import { stdout } from 'node:process';
import { fileURLToPath } from 'node:url';
import { documentFile, documentText, makeDocument } from './openapi/document.ts';

const { document } = await makeDocument();
writeFileSync(documentFile, documentText(document));
stdout.write(`${fileURLToPath(documentFile)}: ${Object.keys(document.paths).length} paths\n`);
