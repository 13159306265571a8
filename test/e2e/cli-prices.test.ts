import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { createPricing } from '../../src/common/prices/pricing.js';
import { parsePrices, pricesWithFile } from '../../src/common/settings/price-file.js';
import { headgateHere } from '../support/cli-bench.js';
import { headgate } from '../support/command.js';

describe('headgate prices', function () {
  this.timeout(60_000);
  let dataDir: string;
  const run = (...args: readonly string[]) =>
    headgateHere(['prices', ...args], { HEADGATE_DATA_DIR: dataDir });
  const file = (text: string): string => {
    const path = join(dataDir, 'rows.json');
    writeFileSync(path, text);
    return path;
  };

  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'headgate-prices-'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true }));

  it('lists every price in the form that update takes, which then changes nothing', async () => {
    const listed = await run('list', '--json');
    expect([listed.code, listed.stderr]).to.deep.equal([0, '']);
    const rows = parsePrices(listed.stdout);
    expect(rows.length).to.be.at.least(1000);
    expect(rows.every(({ source, readOn }) => source !== undefined && readOn !== undefined)).to.equal(true);
    const diff = await headgate({ HEADGATE_DATA_DIR: dataDir }, ['prices', 'diff', '-f', '-'], listed.stdout);
    expect(diff).to.deep.include({ code: 0, stdout: '' });
  });

  it('counts a changed price from its day on, and other prices as before', async () => {
    const row = { provider: 'openai', model: 'gpt-4o', since: '2030-01-01', input: 1, output: 2 };
    const diff = await run('diff', '-f', file(JSON.stringify([row])));
    expect(diff.code).to.equal(1);
    expect(diff.stdout).to.match(/^\+ openai\/gpt-4o {2}input 1, output 2, from 2030-01-01 on/);
    expect((await run('update', '-f', file(JSON.stringify([row])))).code).to.equal(0);
    const more = { provider: 'groq', model: 'new', input: 0.5, output: 0.5 };
    expect((await run('update', '-f', file(JSON.stringify([more])))).code).to.equal(0);
    const own = createPricing({ prices: pricesWithFile(dataDir, {}) });
    expect(own.priceOf('openai', 'gpt-4o', Date.parse('2029-12-31'))?.input).to.equal(2_500_000);
    expect(own.priceOf('openai', 'gpt-4o', Date.parse('2030-01-01'))?.input).to.equal(1_000_000);
    expect(own.priceOf('groq', 'new')?.input).to.equal(500_000);
    expect(own.priceOf('openai', 'gpt-5')?.input).to.equal(1_250_000);
    const shown = await run('show', 'openai', 'gpt-4o');
    expect((await run('show', 'openai', 'gpt-4o', '--json')).stdout).to.equal(shown.stdout);
    expect(parsePrices(shown.stdout).map(({ since }) => since)).to.deep.equal([undefined, '2030-01-01']);
  });

  it('refuses rows that cannot be used, naming the first, and stores nothing', async () => {
    const row = { provider: 'openai', model: 'm', input: 1, output: 1 };
    for (const [rows, reason] of [
      ['no JSON', 'is no JSON'],
      ['{}', 'must be array'],
      [JSON.stringify([row, { ...row, input: -1 }]), 'row [1].input must be >= 0'],
      [JSON.stringify([{ ...row, cahced: 1 }]), 'row [0] must NOT have additional properties: cahced'],
      [JSON.stringify([{ ...row, since: '2030-02-30' }]), '2030-02-30 is no day'],
      [JSON.stringify([row, row]), 'hold from the same day'],
      [JSON.stringify([{ ...row, input: 0.1234567 }]), 'openai m: prices: 0.1234567 is no price'],
    ] as const)
      expect(() => parsePrices(rows), rows).to.throw(reason);
    const refused = await run('update', '-f', file(JSON.stringify([{ ...row, provider: 'opnai' }])));
    expect(refused.code).to.equal(2);
    expect(refused.stderr).to.include('opnai is no provider');
    expect(() => readFileSync(join(dataDir, 'prices.json'))).to.throw('ENOENT');
    writeFileSync(join(dataDir, 'prices.json'), '[{}]');
    expect(() => pricesWithFile(dataDir, {})).to.throw(/prices\.json: row \[0\] must have required property/);
  });
});
