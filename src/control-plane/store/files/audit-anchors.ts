import {
  createPrivateKey,
  createPublicKey,
  hkdfSync,
  type KeyObject,
  sign as signBytes,
  verify as verifyBytes,
} from 'node:crypto';

/** The end of an organisation's audit log at one moment, signed so that it can be kept outside the database. */
export interface AuditAnchor {
  readonly organisation: string;
  /** Number and SHA-256 (hex) of the last row; 0 and zeros for a log without rows. */
  readonly seq: number;
  readonly hash: string;
  /** ISO 8601, UTC. */
  readonly time: string;
  /** The log was set back to this row on purpose: earlier anchors of later rows no longer apply. */
  readonly restored: boolean;
}

/** DER of an Ed25519 private key (RFC 8410) up to the 32 bytes of the key itself. */
const pkcs8Prefix = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Signs anchors and recognises its own. The key is derived from the store's audit key, so every node has the same. */
export class AnchorKey {
  readonly #private: KeyObject;
  readonly #public: KeyObject;

  constructor(auditKey: Buffer) {
    const seed = Buffer.from(hkdfSync('sha256', auditKey, Buffer.alloc(0), 'headgate audit anchors v1', 32));
    this.#private = createPrivateKey({
      key: Buffer.concat([pkcs8Prefix, seed]),
      format: 'der',
      type: 'pkcs8',
    });
    this.#public = createPublicKey(this.#private);
  }

  /** One line of JSON, without its line end. */
  sign(anchor: AuditAnchor): string {
    const signature = signBytes(null, signedBytes(anchor), this.#private).toString('base64url');
    return JSON.stringify({ ...anchor, signature });
  }

  /** Reads a line that `sign` made, or a line of the process log that carries one. null: it is neither. */
  read(line: string): AuditAnchor | null {
    const claimed = claimedAnchor(line);
    if (claimed === null) return null;
    const { signature, ...anchor } = claimed;
    const isOurs = verifyBytes(null, signedBytes(anchor), this.#public, Buffer.from(signature, 'base64url'));
    return isOurs ? anchor : null;
  }
}

/** The anchor in a line; its signature is not verified. null: the line is no anchor. */
export function claimedAnchor(line: string): (AuditAnchor & { readonly signature: string }) | null {
  let found: unknown;
  try {
    found = JSON.parse(line);
  } catch {
    return null;
  }
  const given = ((found as { anchor?: unknown } | null)?.anchor ?? found) as Record<string, unknown> | null;
  if (typeof given !== 'object' || given === null) return null;
  const { organisation, seq, hash, time, restored, signature } = given;
  if (
    typeof organisation !== 'string' ||
    typeof seq !== 'number' ||
    typeof hash !== 'string' ||
    typeof time !== 'string' ||
    typeof restored !== 'boolean' ||
    typeof signature !== 'string'
  ) {
    return null;
  }
  return { organisation, seq, hash, time, restored, signature };
}

/** The anchor with a time after that of the one before it, which a clock that was set back would not give it. */
export function datedAfter(anchor: AuditAnchor, before: AuditAnchor | undefined): AuditAnchor {
  if (before === undefined || anchor.time > before.time) return anchor;
  return { ...anchor, time: new Date(Date.parse(before.time) + 1).toISOString() };
}

const signedBytes = ({ organisation, seq, hash, time, restored }: AuditAnchor): Buffer =>
  Buffer.from(JSON.stringify(['headgate audit anchor v1', organisation, seq, hash, time, restored]));

/** The anchors that apply, by organisation, collected in the order in which they were written. */
export class AnchorHistory {
  readonly #anchors = new Map<string, AuditAnchor[]>();

  /** An anchor older than the one before it is left out: a line that was copied to the end must not set the log back. */
  add(anchor: AuditAnchor): void {
    const before = this.#anchors.get(anchor.organisation) ?? [];
    const last = before.at(-1);
    if (last !== undefined && anchor.time < last.time) return;
    const kept = anchor.restored ? before.filter(({ seq }) => seq <= anchor.seq) : before;
    kept.push(anchor);
    this.#anchors.set(anchor.organisation, kept);
  }

  /** Oldest first. */
  of(organisation: string): readonly AuditAnchor[] {
    return this.#anchors.get(organisation) ?? [];
  }

  /** The newest anchor of each organisation. */
  newest(): readonly AuditAnchor[] {
    return [...this.#anchors.values()].flatMap((anchors) => anchors.at(-1) ?? []);
  }
}
