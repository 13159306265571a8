// A data worker's journal at full speed, until it is killed. Arguments: the journal directory, a file that plays the
// upstream: an id is written there only after its intent is in the journal; and `paced`: a few thousand a second only.
import { openSync, writeSync } from 'node:fs';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { uuidv7 } from '../../src/common/text/id.js';
import { openJournal } from '../../src/data-plane/journal/journal.js';
import { intentOf, settlementOf } from './journal-records.js';

const [dir = '', upstream = '', pace = ''] = process.argv.slice(2);
const seen = openSync(upstream, 'a');
const journal = openJournal({
  dir,
  worker: '0',
  maxFileBytes: 256 * 1024,
  onProblem: (error) => console.error(error),
});

for (;;) {
  for (let i = 0; i < 16; i++) {
    const id = uuidv7();
    journal.intend(intentOf(id));
    writeSync(seen, `${id}\n`);
    const end = (): void => journal.settle(settlementOf(id));
    if (i % 4 === 0) setTimeout(end, Math.random() * 100);
    else end();
  }
  if (pace === 'paced') await pause(5);
  else await nextTurn();
}
