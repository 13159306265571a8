import { join } from 'node:path';
import type { ControlPart } from '../../../src/common/plugin-host/control.js';

const start: ControlPart = async (_settings, host) => {
  const database = await host.openDatabase(join(host.dataDir, 'sweeper.db'), []);
  await database.exec('CREATE TABLE IF NOT EXISTS runs (due_at INTEGER, fence INTEGER)');
  host.schedule('sweep', async ({ dueAt, fence }) => {
    await database.run('INSERT INTO runs VALUES (?, ?)', [dueAt, fence]);
  });
  return { close: () => database.close() };
};

export default start;
