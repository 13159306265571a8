// Precision and recall of the detectors of personal data and secrets, on a set of labelled texts that is made here.
//   node dist/bench/detectors.js [--seed N] [--mistakes]
import { parseArgs } from 'node:util';
import { Detector } from '../plugins/guardrails/checks/detect/detector.js';
import { personalKinds } from '../plugins/guardrails/checks/pii/kinds.js';
import { secretKinds } from '../plugins/guardrails/checks/secrets/kinds.js';
import { kindFacts, makeCases } from './labelled/cases.js';
import { compare, independentTexts } from './labelled/independent.js';
import { type Row, rowsWhere, score, totals } from './labelled/score.js';

const { values } = parseArgs({
  options: { seed: { type: 'string', default: '1' }, mistakes: { type: 'boolean' } },
});
const detector = new Detector([...secretKinds, ...personalKinds]);
const cases = makeCases(Number(values.seed));
const { rows, mistakes } = score(cases, (text) =>
  detector.find(text).map(({ kind: { id }, start, end }) => ({ kind: id, start, end })),
);

const part = (name: string, of: readonly Row[]): string => {
  const { cases: count, precision, recall } = totals(of);
  return `${name.padEnd(24)} ${String(count).padStart(6)} ${precision.toFixed(3).padStart(10)} ${recall.toFixed(3).padStart(7)}`;
};

console.log(
  `${cases.length} texts, ${cases.filter(({ value }) => value !== null).length} of them with a value\n`,
);
console.log(
  `${'kind'.padEnd(24)} ${'values'.padStart(6)} ${'precision'.padStart(10)} ${'recall'.padStart(7)}`,
);
for (const row of rows) console.log(part(row.kind, [row]));
console.log('');
console.log(
  part(
    'patterned kinds',
    rowsWhere(rows, kindFacts, ({ isPatterned }) => isPatterned),
  ),
);
console.log(
  part(
    'kinds with a checksum',
    rowsWhere(rows, kindFacts, ({ isChecked }) => isChecked),
  ),
);
console.log(part('all kinds', rows));

const independent = independentTexts();
const compared = compare(independent, (text) => detector.find(text).map(({ kind: { id } }) => id));
const { precision, recall } = compared;
console.log(
  `\n${independent.length} texts that were written without a look at the detectors, ` +
    `${independent.filter(({ kinds }) => kinds.length === 0).length} of them look-alikes: ` +
    `precision ${precision.toFixed(3)}, recall ${recall.toFixed(3)}`,
);
if (values.mistakes === true) console.log(`\n${[...mistakes, ...compared.mistakes].join('\n')}`);
