// `npm run gen`: writes what is generated. `npm run check` runs it and fails when something changes.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { protoFolder, treeOf } from '../proto/tree.js';
import { settingsPage } from '../src/common/settings/settings-page.js';
import { endpointPaths } from '../src/data-plane/endpoints/table.js';
import { foldersPage } from './gen/folders-page.js';
import { ledgerPage } from './gen/ledger-page.js';
import { openapiFile } from './gen/openapi.js';
import { permissionsPage } from './gen/permissions.js';
import { problemsOf } from './gen/problems.js';
import { readProtos, treeFile } from './gen/read-protos.js';
import { routesFile } from './gen/routes.js';
import { stagesPage } from './gen/stages.js';
import { messagesFile } from './gen/types.js';

const root = resolve(import.meta.dirname, '..');
const stored = readProtos(protoFolder());
const tree = treeOf(stored);
const problems = problemsOf(tree, endpointPaths);
if (problems.length > 0) {
  for (const problem of problems) console.error(problem);
  process.exit(1);
}

const write = (file: string, text: string): void => writeFileSync(join(root, file), text);
write('docs/settings.md', settingsPage());
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
write('docs/ledger.md', ledgerPage(read('docs/ledger.md')));
write('docs/architecture.md', foldersPage(read('docs/architecture.md')));
write('proto/tree.json', treeFile(stored));
write('docs/permissions.md', permissionsPage(tree));
write('docs/stages.md', stagesPage());
const formatted = ['docs/openapi.json', 'proto/messages.ts', 'proto/routes.ts'];
write('docs/openapi.json', openapiFile(tree));
write('proto/messages.ts', messagesFile(tree));
write('proto/routes.ts', routesFile(tree));

const biome = join(root, 'node_modules/@biomejs/biome/bin/biome');
const { status, stderr } = spawnSync(process.execPath, [biome, 'format', '--write', ...formatted], {
  cwd: root,
  encoding: 'utf8',
});
if (status !== 0) {
  console.error(stderr);
  process.exit(1);
}
