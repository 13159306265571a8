import { type Folder, folders } from '../../test/support/folders.js';

const line = ({ path, holds, imports }: Folder): string =>
  `| \`${path}\` | ${holds} | ${imports.map((other) => other.replace(/^src\//, '')).join(', ')} |`;

/** docs/architecture.md with the table of folders that the layer test goes by. */
export function foldersPage(page: string): string {
  const table = ['| folder | holds | imports |', '| --- | --- | --- |', ...folders.map(line)].join('\n');
  const between = /(<!-- folders:[^\n]*-->\n)[\s\S]*?(<!-- \/folders -->)/;
  if (!between.test(page)) throw new Error('docs/architecture.md has no place for its folders.');
  return page.replace(between, (_, open: string, close: string) => `${open}\n${table}\n\n${close}`);
}
