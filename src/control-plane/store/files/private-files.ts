import { lstatSync, readdirSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import { isPrivateGroup } from './private-groups.js';
import { RefusedStart } from './refused-start.js';

/** A file or directory that other users control or can read. */
export interface PrivacyFinding {
  readonly path: string;
  /** What it is: `mode 0777`, `a symbolic link`. */
  readonly found: string;
  /** Why that is wrong and what to do; without a full stop. */
  readonly todo: string;
  /** Does it keep the gateway from starting? It is only reported otherwise. */
  readonly isRefused: boolean;
}

type FileStats = Pick<Stats, 'uid' | 'gid' | 'mode' | 'isDirectory'>;

/** Files of the data directory whose text opens all that is stored there. A rotation leaves more than one. */
const isMasterKey = (name: string): boolean => name.startsWith('master.key');

/** The user as whom this process opens files; null where the system has no such users. */
export const effectiveUser = (): number | null => process.geteuid?.() ?? null;

type IsPrivate = (gid: number, user: number) => boolean;

/** The bits of the mode that let other users in. */
const openTo = ({ gid, mode }: FileStats, user: number, isPrivate: IsPrivate): number =>
  (mode & 0o070) !== 0 && isPrivate(gid, user) ? mode & 0o007 : mode & 0o077;

/** What is wrong with a master key's file, links followed; null: nothing. */
export function judgeMasterKey(
  path: string,
  stats: FileStats,
  user: number,
  isPrivate: IsPrivate = isPrivateGroup,
): PrivacyFinding | null {
  const { uid, mode } = stats;
  const refused = { path, isRefused: true };
  if (uid !== user && uid !== 0) {
    return { ...refused, found: ownedBy(uid), todo: `Another user can change it: chown ${user} ${path}` };
  }
  if (openTo(stats, user, isPrivate) === 0) return null;
  return { ...refused, found: modeOf(mode), todo: `Other users can read it: chmod 600 ${path}` };
}

/** What is wrong with the data directory or what is in it, links followed; null: nothing. */
export function judgeOwnFile(
  path: string,
  stats: FileStats,
  user: number,
  isPrivate: IsPrivate = isPrivateGroup,
): PrivacyFinding | null {
  const { uid, mode } = stats;
  if (uid !== user && uid !== 0) {
    const todo = `Another user can change it: chown ${user} ${path}`;
    // The superuser of a container often works in a directory that a user of the machine has mounted there.
    return { path, found: ownedBy(uid), todo, isRefused: user !== 0 };
  }
  const found = modeOf(mode);
  const open = openTo(stats, user, isPrivate);
  if ((open & 0o022) !== 0) {
    return { path, found, todo: `Other users can write to it: chmod go-w ${path}`, isRefused: true };
  }
  const isDirectory = stats.isDirectory();
  if ((open & (isDirectory ? 0o055 : 0o044)) === 0) return null;
  const todo = `Other users can read it: chmod ${isDirectory ? 700 : 600} ${path}`;
  return { path, found, todo, isRefused: false };
}

/** What is wrong with a link of the data directory, or to it; its target is judged as well. */
function judgeLink(path: string, { uid }: FileStats, user: number): PrivacyFinding | null {
  if (uid === user || uid === 0) return null;
  const found = `a symbolic link ${ownedBy(uid)}`;
  return { path, found, todo: `Another user decides where it leads: remove it`, isRefused: true };
}

const ownedBy = (uid: number): string => `owned by user ${uid}`;
const modeOf = (mode: number): string => `mode ${(mode & 0o777).toString(8).padStart(4, '0')}`;

/** Looks at the data directory and at each file and directory in it. */
export function examineDataDir(
  dataDir: string,
  isPrivate: IsPrivate = isPrivateGroup,
  user = effectiveUser(),
): PrivacyFinding[] {
  if (user === null) return [];
  const findings: (PrivacyFinding | null)[] = [];
  const directory = statsOf(dataDir, lstatSync);
  if (directory?.isSymbolicLink()) {
    const judged = judgeLink(dataDir, directory, user);
    const todo = `Its target is what counts: name that with --data-dir`;
    findings.push(judged ?? { path: dataDir, found: 'a symbolic link', todo, isRefused: false });
  }
  const target = statsOf(dataDir, statSync);
  if (target === null) return findings.filter((finding) => finding !== null);
  findings.push(judgeOwnFile(dataDir, target, user, isPrivate));
  for (const name of namesIn(dataDir))
    findings.push(...examineFile(join(dataDir, name), name, user, isPrivate));
  return findings.filter((finding) => finding !== null);
}

function examineFile(
  path: string,
  name: string,
  user: number,
  isPrivate: IsPrivate,
): (PrivacyFinding | null)[] {
  const stats = statsOf(path, lstatSync);
  // Some systems ignore the mode of a socket; the mode of its directory counts on all.
  if (stats === null || stats.isSocket()) return [];
  if (!stats.isSymbolicLink()) {
    const judge = isMasterKey(name) ? judgeMasterKey : judgeOwnFile;
    return [judge(path, stats, user, isPrivate)];
  }
  if (isMasterKey(name)) return [{ path, ...linkedKey(path), isRefused: true }];
  const target = statsOf(path, statSync);
  return [judgeLink(path, stats, user), target === null ? null : judgeOwnFile(path, target, user, isPrivate)];
}

/** A link in the place of a data directory's own key: found, and what to do. */
export const linkedKey = (path: string): { found: string; todo: string } => ({
  found: 'a symbolic link',
  todo: `Put the key's file itself at ${path}, or name its target with HEADGATE_MASTER_KEY_FILE`,
});

/** null: there is no such file, or no longer. */
function statsOf(path: string, read: (path: string) => Stats): Stats | null {
  try {
    return read(path);
  } catch {
    return null;
  }
}

function namesIn(dataDir: string): readonly string[] {
  try {
    return readdirSync(dataDir).sort();
  } catch {
    return [];
  }
}

/** As one sentence for the operator. */
export const privacyMessage = ({ path, found, todo }: PrivacyFinding): string =>
  `${path}: ${found}. ${todo}.`;

/**
 * Refuses a data directory that other users control. What they can only read is reported, as a message each. Throws
 * RefusedStart.
 */
export function checkPrivacy(
  dataDir: string,
  report: (message: string) => void,
  isPrivate: IsPrivate = isPrivateGroup,
): void {
  const findings = examineDataDir(dataDir, isPrivate);
  const refused = findings.find(({ isRefused }) => isRefused);
  if (refused !== undefined) throw new RefusedStart(privacyMessage(refused));
  for (const finding of findings) report(privacyMessage(finding));
}
