// `npm run gen`: writes what is generated. `npm run check` runs it and fails when something changes.
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { settingsPage } from '../src/config/settings-page.js';

writeFileSync(resolve(import.meta.dirname, '../docs/settings.md'), settingsPage());
