import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { networkOf } from '../../../../common/access/failed-attempts.js';
import { AdminError } from '../../admin-error.js';

const derive = promisify<string, Buffer, number, object, Buffer>(scrypt);

/** OWASP's first choice of scrypt; 128 MiB and about 0.3 s each. */
const usual = { N: 2 ** 17, r: 8, p: 1 };
const keyBytes = 32;
const shortest = 12;
const longest = 128;
/** Hashes computed at once, each in a thread of Node's pool. */
const maxRunning = 2;
/** The longest wait for a turn in milliseconds, and how many attempts of one network may wait. */
const longestWaitMs = 3000;
const mostOfNetwork = 16;

/** Longer texts are refused unread: no valid password is that long. UTF-16 units. */
const maxRead = 2048;

/** One text for the same characters, however they were typed. */
const normal = (text: string): string => text.slice(0, maxRead).normalize('NFKC');

/** Throws AB01 for a password that may not be set. `path`: of its field. */
export function checkPassword(text: string, email: string, path: string): void {
  const length = [...normal(text)].length;
  if (length < shortest) throw AdminError.field(path, `must be at least ${shortest} characters long.`);
  if (length > longest) throw AdminError.field(path, `must be at most ${longest} characters long.`);
  if (normal(text).toLowerCase() === email.toLowerCase())
    throw AdminError.field(path, 'must not be the e-mail address.');
  if (new Set(normal(text)).size < 4)
    throw AdminError.field(path, 'must have at least 4 different characters.');
}

interface Waiting {
  /** Of the caller. */
  readonly network: string;
  readonly go: () => void;
}

let running = 0;
const waiting: Waiting[] = [];
/** Current duration of a hash: an average of the latest ones. Milliseconds. */
let hashMs = 300;

/** Throws at once where the caller would wait too long: a flood of attempts is refused instead of queued. */
function checkQueue(network: string): void {
  const ofNetwork = waiting.filter((one) => one.network === network).length;
  const waitMs = ((waiting.length + 1) * hashMs) / maxRunning;
  if (ofNetwork >= mostOfNetwork || waitMs > longestWaitMs) throw tooMany();
}

function tooMany(): AdminError {
  const error = new AdminError('unavailable', 'Too many people are signing in: try again in a few seconds.');
  error.retryAfter = Math.ceil(longestWaitMs / 1000);
  return error;
}

/** Throws after `longestWaitMs`, since hashes may take longer than expected. */
function turnOf(network: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const mine: Waiting = {
      network,
      go() {
        clearTimeout(timer);
        resolve();
      },
    };
    const timer = setTimeout(() => {
      waiting.splice(waiting.indexOf(mine), 1);
      reject(tooMany());
    }, longestWaitMs);
    waiting.push(mine);
  });
}

/** Limits how many hashes are computed at a time, since each takes much memory. */
async function inTurn<T>(address: string, work: () => Promise<T>): Promise<T> {
  const network = networkOf(address);
  if (running >= maxRunning) {
    checkQueue(network);
    await turnOf(network);
  } else running += 1;
  const began = performance.now();
  try {
    return await work();
  } finally {
    hashMs += (performance.now() - began - hashMs) / 8;
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next.go();
  }
}

const hashOf = (text: string, salt: Buffer, { N, r, p }: typeof usual): Promise<Buffer> =>
  derive(normal(text), salt, keyBytes, { N, r, p, maxmem: 256 * N * r });

/** `scrypt$N$r$p$salt$hash`: a later version may take other parameters. */
export const hashPassword = (text: string, address: string): Promise<string> =>
  inTurn(address, async () => {
    const salt = randomBytes(16);
    const hash = await hashOf(text, salt, usual);
    const { N, r, p } = usual;
    return ['scrypt', N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$');
  });

/** For users without a password: the check takes as long, and fails. */
const unmatchable = `scrypt$${usual.N}$${usual.r}$${usual.p}$${randomBytes(16).toString('base64url')}$`;

/** What the caller does in the turn of a check: checks run one after the other, and count in between. */
export interface PasswordTurn {
  readonly address: string;
  /** May throw. */
  before(): Promise<void>;
  wrong(): Promise<void>;
}

/** Is it the password of that hash? `stored` null: there is none, which takes as long to find out. */
export const verifyPassword = (stored: string | null, text: string, turn: PasswordTurn): Promise<boolean> =>
  inTurn(turn.address, async () => {
    await turn.before();
    const [, N, r, p, salt = '', hash = ''] = (stored ?? unmatchable).split('$');
    const parameters = { N: Number(N), r: Number(r), p: Number(p) };
    const given = await hashOf(text, Buffer.from(salt, 'base64url'), parameters);
    const wanted = Buffer.from(hash, 'base64url');
    const isRight = wanted.length === given.length && timingSafeEqual(wanted, given);
    if (!isRight) await turn.wrong();
    return isRight;
  });
