// Fills its disk quota (set by the test), waits until that is raised, and goes on. Argument: the journal directory.
import { setTimeout as pause } from 'node:timers/promises';
import { openJournal } from '../../src/data-plane/journal/journal.js';
import { intentOf } from './journal-records.js';

const [dir = ''] = process.argv.slice(2);
const journal = openJournal({ dir, worker: '0', onProblem: () => console.log('problem') });
for (let i = 0; i < 100; i++) journal.intend(intentOf(`id-${i}`));
console.log(journal.healthy ? 'still healthy' : 'unhealthy');
while (!journal.healthy) await pause(20);
console.log('healthy again');
for (let i = 100; i < 200; i++) journal.intend(intentOf(`id-${i}`));
journal.close();
