import { expect } from 'chai';
import type { WorkerInit } from '../../src/common/ipc/messages.js';
import { loadSettings } from '../../src/common/settings/settings.js';
import { workerInit } from '../../src/process/workers/worker-init.js';

const masterKey = '11'.repeat(32);

describe('the settings that a data worker gets', () => {
  const initWith = (env: Readonly<Record<string, string>>): WorkerInit => {
    const settings = loadSettings({ env: { HEADGATE_MASTER_KEY: masterKey, ...env }, file: null });
    const place = { journalDir: '/data/journal', nodeId: 'node', deployment: null };
    const prices = { own: {}, revision: 0 };
    return workerInit(settings, 0, 2, place, 'pepper', { directory: null, insert: [] }, prices);
  };

  it('have neither PostgreSQL nor Redis in them: a request takes the same way with them, without, and while they are away', () => {
    const alone = initWith({});
    const databases = {
      DATABASE_URL: 'postgres://gateway:secret@db.internal/headgate',
      LEDGER_DATABASE_URL: 'postgres://gateway:secret@logs.internal/headgate',
      REDIS_URL: 'redis://gateway:secret@redis.internal:6379',
    };
    expect(initWith(databases)).to.deep.equal(alone);
    expect(JSON.stringify(alone)).to.not.contain('postgres').and.not.contain('redis');
  });
});
