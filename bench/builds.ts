import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { median } from './comparison.js';
import { here } from './servers.js';

/**
 * Two builds of the gateway, compared by what its own code costs (`way.js`): each round runs both in turns, the one that
 * begins changing, so that what else the machine does falls on both alike.
 * `node dist/bench/builds.js OTHER [runs] [requests] [KIND,…]`; OTHER: the root of another checkout that is built; KIND: words
 * of `way.js` (`"governed bodies"`), or `chat` for none.
 */
const [, , given, runs = '10', requests = '40000', kinds = 'chat,hit'] = process.argv;
if (given === undefined || !existsSync(join(given, 'dist', 'bench', 'way.js'))) {
  console.error(
    'Name the root of another checkout that is built: node dist/bench/builds.js OTHER [runs] [requests]',
  );
  process.exit(2);
}
const builds = [resolve(given), resolve(here('../..'))];
/** As data workers are started. */
const flags = ['--max-semi-space-size=4', '--initial-heap-size=40', '--heap-growing-percent=60'];

/** CPU microseconds a request. */
function measure(build: string, kind: string): number {
  const args = [
    ...flags,
    join(build, 'dist', 'bench', 'way.js'),
    requests,
    ...(kind === 'chat' ? [] : kind.split(' ')),
  ];
  const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
  const found = /^([\d.]+) µs a request/m.exec(stdout);
  if (found === null) throw new Error(`${build} has no figure: ${stdout}${stderr}`);
  return Number(found[1]);
}

for (const kind of kinds.split(',')) {
  const values: number[][] = [[], []];
  for (let run = 0; run < Number(runs); run++)
    for (const i of run % 2 === 0 ? [0, 1] : [1, 0]) values[i]!.push(measure(builds[i]!, kind));
  const ratios = values[1]!.map((now, i) => now / values[0]![i]!);
  const shown = values.map(
    (all) =>
      `${median(all).toFixed(1)} µs (${Math.min(...all).toFixed(1)} to ${Math.max(...all).toFixed(1)})`,
  );
  console.log(
    `${kind}: other ${shown[0]}, this ${shown[1]}; median of ${runs} ratios ${median(ratios).toFixed(3)}`,
  );
}
