import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { columnFields, contextFields, ledgerVersion, restFields } from '../../src/common/ledger/fields.js';
import { ledgerPage } from '../../tools/gen/ledger-page.js';
import { root } from '../support/root.js';

describe('the fields of the ledger', () => {
  it('are in docs/ledger.md as the code has them', () => {
    const page = readFileSync(join(root, 'docs/ledger.md'), 'utf8');
    expect(ledgerPage(page), 'run npm run gen').to.equal(page);
  });

  it('have names of their own, and a version that exists', () => {
    const all = [...columnFields, ...restFields];
    expect(new Set(all.map(({ name }) => name)).size).to.equal(all.length);
    for (const { name, since } of all) expect(since, name).to.be.within(1, ledgerVersion);
  });

  it('have the contexts of version 3 in the order that its journals have', () => {
    expect(contextFields.map(({ name }) => name).join(' ')).to.equal(
      'org workspace key user provider provider_slug integration model model_asked endpoint method path status error ' +
        'stream attempt_count retries target cache cost_saved saved_us config config_version prompt usage_source metadata',
    );
  });
});
