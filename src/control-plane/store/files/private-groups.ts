import { readFileSync } from 'node:fs';

/** The system's lists of users and groups, as text, and the groups of this process. */
export interface GroupSources {
  readonly passwd: string;
  readonly group: string;
  readonly processGroups: readonly number[];
}

const systemSources = (): GroupSources => ({
  passwd: textOf('/etc/passwd'),
  group: textOf('/etc/group'),
  processGroups: [
    ...(process.getegid === undefined ? [] : [process.getegid()]),
    ...(process.getgroups?.() ?? []),
  ],
});

/**
 * Has a group no member besides `user` and the superuser? Then a mode that lets the group in lets no other user in:
 * the group of a Kubernetes volume (`fsGroup`), the group 0 of a container, a user's own group on Debian and Fedora.
 * Only the members that the system's files name count, not those of a directory service.
 */
export function isPrivateGroup(gid: number, user: number, sources = systemSources()): boolean {
  const { passwd, group, processGroups } = sources;
  if (gid !== 0 && !processGroups.includes(gid)) return false;
  const users = fieldsOf(passwd).map(([name, , uid, primary]) => ({
    name,
    isOther: Number(uid) !== user && Number(uid) !== 0,
    // Some systems give group 0 to accounts without a login, `shutdown` for one.
    isMember: gid !== 0 && Number(primary) === gid,
  }));
  if (users.some(({ isOther, isMember }) => isOther && isMember)) return false;
  const own = new Set(users.filter(({ isOther }) => !isOther).map(({ name }) => name));
  const members = fieldsOf(group)
    .filter(([, , id]) => Number(id) === gid)
    .flatMap(([, , , names = '']) => names.split(',').map((name) => name.trim()));
  return members.every((name) => name === '' || own.has(name));
}

/** Of each line that is an entry. */
const fieldsOf = (text: string): string[][] =>
  text
    .split('\n')
    .map((line) => line.split(':'))
    .filter(({ length }) => length >= 4);

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
