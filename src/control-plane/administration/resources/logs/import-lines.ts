import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ImportLogsResponse } from '../../../../../proto/messages.js';
import type { LogWriter } from '../../../../common/ledger/logs/log-writer.js';
import type { LedgerRow } from '../../../../common/ledger/record.js';
import type { Store } from '../../../store/store.js';
import { AdminError } from '../../admin-error.js';
import { readLoggedRow } from './logged-row.js';

export interface LineImport {
  readonly store: Store;
  readonly logWriter: LogWriter;
  readonly org: string;
}

/** Lines that are read before other work of the process has its turn. */
const turnLines = 200;
const newline = 0x0a;

/** Takes lines in, all or none. `first`: the number of the first, for refusals: `line 12: cost`. */
export async function importLines(
  bytes: Buffer,
  first: number,
  { store, logWriter, org }: LineImport,
): Promise<ImportLogsResponse> {
  const workspaces = new Map<string, string | null>();
  const workspaceOf = async (name: string): Promise<string | null> => {
    const known = workspaces.get(name);
    if (known !== undefined) return known;
    const found = (await store.workspaces.get(org, name))?.id ?? null;
    workspaces.set(name, found);
    return found;
  };
  const rows: LedgerRow[] = [];
  let number = first;
  for (let at = 0; at < bytes.length; number++) {
    const end = bytes.indexOf(newline, at);
    const text = bytes.toString('utf8', at, end < 0 ? bytes.length : end).trim();
    at = end < 0 ? bytes.length : end + 1;
    if (text !== '') {
      const { row, workspace } = readLoggedRow(text, org, `line ${number}`);
      const id = await workspaceOf(workspace);
      if (id === null)
        throw AdminError.field(`line ${number}: workspace_id`, 'names no workspace of the organisation.');
      rows.push({ ...row, workspace: id });
    }
    if ((number - first) % turnLines === turnLines - 1) await nextTurn();
  }
  const imported = rows.length === 0 ? 0 : await logWriter.addRows(rows);
  return { imported, skipped: rows.length - imported };
}
