import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { pricesWithFile, pricesWithFileAside } from '../../src/common/settings/price-file.js';

describe('prices.json, read while a gateway runs', () => {
  let dataDir: string;
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'price-file-'));
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));
  const write = (rows: unknown): void => writeFileSync(join(dataDir, 'prices.json'), JSON.stringify(rows));
  const row = (i: number) => ({ provider: 'openai', model: `m${i}`, input: 1, output: 2 });

  it('lets other work through, and gives the same as at the start', async () => {
    write(Array.from({ length: 6000 }, (_, i) => row(i)));
    let turns = 0;
    let isRead = false;
    const count = (): void => {
      turns++;
      if (!isRead) setImmediate(count);
    };
    setImmediate(count);
    const settings = { openai: { mine: [] } };
    const own = await pricesWithFileAside(dataDir, settings);
    isRead = true;
    expect(turns).to.be.at.least(20);
    expect(own).to.deep.equal(pricesWithFile(dataDir, settings));
  });

  it('names the row that cannot be used, and takes a missing file for no prices', async () => {
    expect(await pricesWithFileAside(dataDir, {})).to.deep.equal({});
    write([...Array.from({ length: 700 }, (_, i) => row(i)), { ...row(700), input: -1 }]);
    const error = await pricesWithFileAside(dataDir, {}).catch(({ message }) => message);
    expect(error).to.equal(`${join(dataDir, 'prices.json')}: row [700].input must be >= 0.`);
  });

  it('refuses a row that has the same name twice, of which one would count', () => {
    const text = '[{"provider": "openai", "model": "m", "input": 1, "output": 2, "input": 10}]';
    writeFileSync(join(dataDir, 'prices.json'), text);
    expect(() => pricesWithFile(dataDir, {})).to.throw('has an object with the same name twice: remove one');
    writeFileSync(join(dataDir, 'prices.json'), text.replace(', "input": 10', ''));
    expect(Object.keys(pricesWithFile(dataDir, {})['openai'] ?? {})).to.deep.equal(['m']);
  });

  it('takes as many rows as are allowed', () => {
    write(Array.from({ length: 20_000 }, (_, i) => ({ ...row(i), cached: 1, reasoning: 2, request: 0 })));
    expect(Object.keys(pricesWithFile(dataDir, {})['openai'] ?? {})).to.have.length(20_000);
  });
});
