import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { nodeIdOf } from '../../src/process/node/node-id.js';
import { folder } from '../support/stores.js';

describe('the id of a node', () => {
  it('is made once for a data directory, and belongs to it', () => {
    const dataDir = folder();
    const id = nodeIdOf(dataDir);
    expect(id).to.match(/^[0-9a-f-]{36}$/);
    expect(nodeIdOf(dataDir)).to.equal(id);
    expect(nodeIdOf(folder())).to.not.equal(id);
    expect(readFileSync(join(dataDir, 'node-id'), 'utf8')).to.equal(`${id}\n`);
    expect(statSync(join(dataDir, 'node-id')).mode & 0o777).to.equal(0o600);
  });

  it('is never replaced where its file holds something else', () => {
    const dataDir = folder();
    writeFileSync(join(dataDir, 'node-id'), '');
    expect(() => nodeIdOf(dataDir)).to.throw(/node-id does not hold a node's id \(a UUID\): restore it/);
  });
});
