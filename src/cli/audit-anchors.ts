import { reasonOf } from '../common/text/bounded-file.js';
import { AnchorFile, anchorFileOf } from '../control-plane/store/files/anchor-file.js';
import { type AnchorHistory, datedAfter } from '../control-plane/store/files/audit-anchors.js';
import type { AuditStore, Store } from '../control-plane/store/store.js';
import { CliError } from './cli-error.js';
import type { StoredSettings } from './local-store.js';
import { writeErrorLine } from './output/output.js';

/** Anchors from the file that the settings name, or from `given`: a copy of it, or lines of the process log. */
export async function readAnchors(
  { audit }: Store,
  settings: StoredSettings,
  given: string | undefined,
): Promise<AnchorHistory> {
  const file = given === undefined ? anchorFileOf(settings) : new AnchorFile(given);
  const { history, rejected } = await file
    .read((line) => audit.readAnchor(line))
    .catch((error) => {
      throw new CliError(`${file.path} cannot be read: ${reasonOf(error)}.`);
    });
  // Lines of a process log that carry no anchor are expected.
  if (rejected > 0 && given === undefined) {
    writeErrorLine(`${rejected} lines of ${file.path} are incomplete or were not signed by this store.`);
  }
  if (given !== undefined && history.newest().length === 0) {
    throw new CliError(`${given} holds no anchor of this store.`);
  }
  return history;
}

/**
 * Records the present ends of the logs as those that a restore has put there, where anchors are kept in a file: later
 * rows that were anchored before are no longer missed. Returns how many rows each organisation has lost by it.
 */
export async function acceptPresentEnds(
  audit: AuditStore,
  settings: StoredSettings,
): Promise<readonly { readonly organisation: string; readonly rows: number; readonly lost: number }[]> {
  const file = anchorFileOf(settings);
  const { history } = await file.read((line) => audit.readAnchor(line));
  const ends = (await audit.ends()).map((end) =>
    datedAfter({ ...end, restored: true }, history.of(end.organisation).at(-1)),
  );
  const lines = ends.map((end) => audit.signAnchor(end));
  const others = history
    .newest()
    .filter((anchor) => !ends.some(({ organisation }) => organisation === anchor.organisation))
    .map((anchor) => audit.signAnchor(anchor));
  if (settings.auditAnchors.includes('file')) await file.append(lines, () => [...lines, ...others]);
  return ends.map(({ organisation, seq }) => ({
    organisation,
    rows: seq,
    lost: Math.max(0, (history.of(organisation).at(-1)?.seq ?? 0) - seq),
  }));
}
