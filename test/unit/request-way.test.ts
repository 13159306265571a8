// lane: not quick
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { type WayFunction, wayOfPage, wayText } from '../support/request-way.js';
import { root } from '../support/root.js';

/**
 * What is reached. It may be lowered; a stage that runs for every request (limits, guardrails) may add two functions.
 * Those that change the way run `npm run way`.
 */
const most = { functions: 115, files: 57 };

describe('the way of a plain chat', () => {
  let way: WayFunction[];

  before(() => {
    const file = join(root, 'dist', 'test', 'support', 'request-way.js');
    way = JSON.parse(execFileSync(process.execPath, [file, '--json'], { encoding: 'utf8' })) as WayFunction[];
  });

  it('passes no more functions and files from the socket to the write to the provider than it did', () => {
    expect(way.length).to.be.at.most(most.functions);
    expect(new Set(way.map(({ file }) => file)).size).to.be.at.most(most.files);
  });

  it('is listed in docs/architecture.md (npm run way)', () => {
    const page = readFileSync(join(root, 'docs', 'architecture.md'), 'utf8');
    expect(wayOfPage(page)).to.equal(wayText(way));
  });
});
