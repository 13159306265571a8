/** A `REDIS_URL`, taken apart. */
export interface RedisAddress {
  readonly kind: 'single' | 'cluster' | 'sentinel';
  readonly tls: boolean;
  /** One for `single`; any number of a cluster's nodes, or of the Sentinels. */
  readonly hosts: readonly RedisHost[];
  /** null: none. */
  readonly username: string | null;
  readonly password: string | null;
  /** What to sign in to the Sentinels with; null: nothing. */
  readonly sentinelUsername: string | null;
  readonly sentinelPassword: string | null;
  readonly database: number;
  /** By which the Sentinels know the server; null for the other kinds. */
  readonly name: string | null;
}

export interface RedisHost {
  readonly host: string;
  readonly port: number;
}

/** The forms, as messages and pages show them. */
export const redisForms =
  'redis://user:password@host:port/database, redis-cluster://host:port,host:port or redis-sentinel://host:port,host:port/database#name (rediss… with TLS)';

/** A part of the URL that cannot be used. No message quotes what was given: any part may be a piece of the password. */
class Refused extends Error {
  constructor(
    readonly path: string,
    reason: string,
  ) {
    super(reason);
  }
}

const form = /^(redis|rediss)(?:-(cluster|sentinel))?:\/\/([^/?#]*)(?:\/([^?#]*))?(?:\?([^#]*))?(?:#(.*))?$/;
const hostName = /^[A-Za-z0-9_](?:[A-Za-z0-9._-]{0,252})$/;
const maxHosts = 100;
const defaultPorts = { single: 6379, cluster: 6379, sentinel: 26_379 } as const;

/** Throws an Error whose message names the part and what is wrong with it: `.hosts[1].port: must be …`. */
export function parseRedisUrl(url: string): RedisAddress {
  try {
    return read(url);
  } catch (error) {
    if (error instanceof Refused) throw new Error(`${error.path}: ${error.message}.`);
    throw error;
  }
}

/** Problems in the form in which settings report them; empty: it can be used. */
export function redisUrlProblems(url: string): string[] {
  try {
    parseRedisUrl(url);
    return [];
  } catch (error) {
    return [(error as Error).message];
  }
}

function read(url: string): RedisAddress {
  const parts = form.exec(url);
  if (parts === null) throw new Refused('', `must be ${redisForms}`);
  const [, scheme, suffix, authority = '', path = '', query = '', fragment] = parts;
  const kind = (suffix ?? 'single') as RedisAddress['kind'];
  const at = authority.lastIndexOf('@');
  const signIn = at === -1 ? '' : authority.slice(0, at);
  const colon = signIn.indexOf(':');
  return {
    kind,
    tls: scheme === 'rediss',
    hosts: hostsOf(authority.slice(at + 1), kind),
    username: decoded('.user', colon === -1 ? signIn : signIn.slice(0, colon)),
    password: colon === -1 ? null : decoded('.password', signIn.slice(colon + 1)),
    ...sentinelSignIn(query, kind),
    database: databaseOf(path, kind),
    name: nameOf(fragment, kind),
  };
}

function hostsOf(text: string, kind: RedisAddress['kind']): RedisHost[] {
  const items = text.split(',');
  if (kind === 'single' && items.length > 1)
    throw new Refused(
      '.host',
      'must be one host; several are written with redis-cluster:// or redis-sentinel://',
    );
  if (items.length > maxHosts) throw new Refused('.hosts', `must be at most ${maxHosts}`);
  return items.map((item, i) => hostOf(item, kind === 'single' ? '' : `.hosts[${i}]`, kind));
}

function hostOf(text: string, path: string, kind: RedisAddress['kind']): RedisHost {
  const parts = /^(?:\[([0-9A-Fa-f:.]+)\]|([^:[\]]*))(?::(.*))?$/.exec(text);
  const host = parts?.[1] ?? parts?.[2] ?? '';
  if (host === '' || (parts?.[1] === undefined && !hostName.test(host)))
    throw new Refused(
      path === '' ? '.host' : path,
      'must be a host name or an IP address, with a port if it is not the usual one; in the user and the password, characters such as @ / # ? are percent-encoded',
    );
  const port = parts?.[3];
  if (port === undefined) return { host, port: defaultPorts[kind] };
  if (!/^\d{1,5}$/.test(port) || Number(port) < 1 || Number(port) > 65_535)
    throw new Refused(`${path}.port`, 'must be a whole number from 1 to 65535');
  return { host, port: Number(port) };
}

function decoded(path: string, text: string): string | null {
  if (text === '') return null;
  try {
    return decodeURIComponent(text);
  } catch {
    throw new Refused(path, 'has a % that begins no percent-encoded character; a % itself is written %25');
  }
}

function databaseOf(path: string, kind: RedisAddress['kind']): number {
  if (path === '') return 0;
  if (!/^\d{1,5}$/.test(path)) throw new Refused('.database', 'must be a whole number');
  const database = Number(path);
  if (kind === 'cluster' && database !== 0)
    throw new Refused('.database', 'must be 0 or absent: a cluster has no other');
  return database;
}

function nameOf(fragment: string | undefined, kind: RedisAddress['kind']): string | null {
  if (kind !== 'sentinel') {
    if (fragment !== undefined) throw new Refused('.name', 'belongs to redis-sentinel:// alone');
    return null;
  }
  const name = decoded('.name', fragment ?? '');
  if (name === null)
    throw new Refused(
      '.name',
      'is missing: end the URL with # and the name that the Sentinels monitor, as in #mymaster',
    );
  return name;
}

function sentinelSignIn(
  query: string,
  kind: RedisAddress['kind'],
): Pick<RedisAddress, 'sentinelUsername' | 'sentinelPassword'> {
  const found = { sentinelUsername: null as string | null, sentinelPassword: null as string | null };
  for (const pair of query === '' ? [] : query.split('&')) {
    const equals = pair.indexOf('=');
    const name = equals === -1 ? pair : pair.slice(0, equals);
    const value = equals === -1 ? '' : pair.slice(equals + 1);
    if (kind === 'sentinel' && name === 'sentinel_user')
      found.sentinelUsername = decoded('.sentinel_user', value);
    else if (kind === 'sentinel' && name === 'sentinel_password')
      found.sentinelPassword = decoded('.sentinel_password', value);
    else
      throw new Refused(
        '.query',
        'must be absent; redis-sentinel:// alone takes sentinel_user and sentinel_password there',
      );
  }
  return found;
}
