import { columnFields, type LedgerField, restFields } from '../../src/common/ledger/fields.js';

const types = {
  text: 'text',
  integer: 'integer',
  duration: 'integer',
  boolean: '0 or 1',
  json: 'JSON',
} as const;

const line = ({ name, type, nullable, unit, filledBy, since, about }: LedgerField): string =>
  `| \`${name}\` | ${types[type]}${nullable ? ', null' : ''} | ${unit ?? ''} | ${filledBy} | ${since} | ${about} |`;

const table = (fields: readonly LedgerField[]): string =>
  [
    '| field | type | unit | filled by | since | meaning |',
    '| --- | --- | --- | --- | --- | --- |',
    ...fields.map(line),
  ].join('\n');

/** docs/ledger.md with its tables of fields as the code has them. */
export function ledgerPage(page: string): string {
  return replaced(replaced(page, 'columns', table(columnFields)), 'rest', table(restFields));
}

function replaced(page: string, mark: string, text: string): string {
  const between = new RegExp(`(<!-- ${mark}:[^\\n]*-->\\n)[\\s\\S]*?(<!-- /${mark} -->)`);
  if (!between.test(page)) throw new Error(`docs/ledger.md has no place for ${mark}.`);
  return page.replace(between, (_, open: string, close: string) => `${open}\n${text}\n\n${close}`);
}
