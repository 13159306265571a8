// Which tests run in one go. A test file says on its first line what is special about it:
//
//   // lane: shared gateway          in one process with the others that say so: they use one gateway
//   // lane: heap                    first, while the process is small: it measures the heap, which is collected each time
//   // lane: shared gateway, quick   also part of `npm test -- --quick`, as all of test/unit, golden and fuzz are
//   // lane: not quick               no part of it: it takes seconds of the processor
//   // lane: slow                    only part of `npm test -- --all`: it kills processes, starts several gateways, or goes
//                                 through every route, field or page of the docs
//
// A file that says nothing runs with those of its folder.
import { closeSync, openSync, readdirSync, readSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../prepare.mjs';
import { expectedFileSeconds } from './progress.mjs';

/** @typedef {{ name: string, files: string[] }} Lane files that one mocha runs in one go, in this order */

/**
 * Lanes are taken one by one by the processes that run them, so that none of these has much to do when the others have
 * ended. Every lane costs a moment, and the shorter they are, the better they are spread.
 */
const laneSeconds = 10;
const folders = ['unit', 'golden', 'fuzz', 'contract', 'e2e', 'fault'];
const quickFolders = new Set(['unit', 'golden', 'fuzz']);
const sharedGateway = 'shared gateway';
const heap = 'heap';
const quick = 'quick';
const notQuick = 'not quick';
const slow = 'slow';
const marks = new Set([sharedGateway, heap, quick, notQuick, slow]);

/** Which files a run has. `quick`: what needs no process, and of the rest what shows most in least time. */
const choices = {
  all: () => true,
  usual: ({ marks }) => !marks.has(slow),
  quick: ({ folder, marks }) =>
    marks.has(quick) || (quickFolders.has(folder) && !marks.has(notQuick) && !marks.has(slow)),
};

/**
 * @param {'all' | 'usual' | 'quick'} choice
 * @param {Record<string, number>} durations seconds by file, of the run before
 * @returns {{ lanes: Lane[], leftOut: number }} the lanes in the order in which they are begun; how many files are in none
 */
export function chosenLanes(choice, durations) {
  const files = testFiles();
  const chosen = files.filter(choices[choice]);
  return { lanes: lanesOf(chosen, durations), leftOut: files.length - chosen.length };
}

function lanesOf(files, durations) {
  const markedLane = (mark) => ({
    name: mark,
    files: files.filter(({ marks }) => marks.has(mark)).map(({ file }) => file),
  });
  const rest = files.filter(({ marks }) => !marks.has(sharedGateway) && !marks.has(heap));
  const lanes = folders.flatMap((folder) =>
    split(
      folder,
      rest.filter((each) => each.folder === folder),
      durations,
    ),
  );
  const seconds = (lane) => lane.files.reduce((sum, file) => sum + expectedFileSeconds(file, durations), 0);
  // The longest first: a long one that begins last runs on by itself. The gateway's start is among the seconds of one file, which
  // `--quick` may leave out.
  lanes.sort((a, b) => seconds(b) - seconds(a));
  return [markedLane(heap), markedLane(sharedGateway), ...lanes];
}

/** Lanes of about `laneSeconds`. */
function split(folder, files, durations) {
  const parts = [];
  let left = 0;
  for (const { file } of files) {
    const seconds = expectedFileSeconds(file, durations);
    if (parts.length === 0 || left < seconds / 2) {
      parts.push([]);
      left = laneSeconds;
    }
    parts.at(-1).push(file);
    left -= seconds;
  }
  return parts.map((part, i) => ({ name: `${folder} ${i + 1}/${parts.length}`, files: part }));
}

/** @returns {{ file: string, folder: string, marks: Set<string> }[]} */
function testFiles() {
  return folders.flatMap((folder) =>
    readdirSync(join(root, 'test', folder), { recursive: true })
      .filter((file) => file.endsWith('.test.ts'))
      .sort()
      .map((name) => {
        const file = `test/${folder}/${name}`;
        return { file, folder, marks: marksOf(file) };
      }),
  );
}

/** What the first line of a file says of its lane. Throws for a word that means nothing. */
function marksOf(file) {
  const [, words = ''] = /^\/\/ lane: ([^\r\n]*)/.exec(beginningOf(join(root, file))) ?? [];
  const said = words.split(',').map((word) => word.trim());
  for (const word of said)
    if (word !== '' && !marks.has(word))
      throw new Error(
        `${file}: the first line names the lane "${word}"; known are ${[...marks].join(', ')}.`,
      );
  return new Set(said);
}

function beginningOf(path) {
  const file = openSync(path, 'r');
  const bytes = Buffer.alloc(200);
  const length = readSync(file, bytes);
  closeSync(file);
  return bytes.toString('utf8', 0, length);
}
