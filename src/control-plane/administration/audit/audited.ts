import { createHash } from 'node:crypto';
import type { Message } from '../../../../proto/codec.js';
import type { AdminMethod } from '../../../../proto/tree.js';
import type { NewChange, RequestKey } from '../../store/store.js';
import type { Caller } from '../access/caller.js';
import type { Inbound } from '../access/inbound.js';
import { AdminError } from '../admin-error.js';
import { checkRepeat } from '../repeats.js';
import type { AdminParts } from '../service.js';
import { readMessage, writeMessage } from '../shape/json.js';
import { auditEntry } from './audit.js';
import type { RefusalLog } from './refusals.js';

/**
 * One call of a method that changes something: the change, the answer kept for a repetition, the notes for other nodes
 * and the audit row are one unit of work. A refusal undoes it and leaves its own row.
 */
export class AuditedCall {
  constructor(
    readonly parts: AdminParts,
    readonly call: Inbound,
    readonly caller: Caller,
    readonly refusals: RefusalLog,
  ) {}

  /** `admit` gives the request, or throws why it is refused; `work` is the method. */
  async run(admit: () => Message, work: (request: Message) => Promise<Message>): Promise<Message> {
    const { store } = this.parts;
    let request: Message | null = null;
    let response: Message;
    try {
      const admitted = admit();
      request = admitted;
      response = await store.unit(this.caller.organisationId, () => this.#once(admitted, work));
    } catch (thrown) {
      this.caller.undo();
      await this.#refused(request ?? this.#readable(), AdminError.from(thrown));
      throw thrown;
    }
    await this.#confirm();
    return response;
  }

  /** The request of a call that was refused before or after it was read, as far as it can be read; null: it cannot. */
  #readable(): Message | null {
    try {
      return this.call.read();
    } catch {
      return this.call.readValid?.() ?? null;
    }
  }

  async #once(request: Message, work: (request: Message) => Promise<Message>): Promise<Message> {
    const { idempotency, audit } = this.parts.store;
    const { method } = this.call;
    const repeat = repeatOf(method, this.caller, request);
    const kept = repeat === null ? null : await idempotency.get(repeat.key);
    if (kept !== null) {
      if (kept.requestHash !== repeat?.hash)
        throw AdminError.lost('request_id was used for another request: give each its own.');
      const answer = readMessage(method.response, JSON.parse(kept.answer));
      await checkRepeat(this.caller, method, answer);
      return answer;
    }
    const response = await work(request);
    if (repeat !== null) {
      const answer = JSON.stringify(writeMessage(method.response, response));
      await idempotency.put(repeat.key, { requestHash: repeat.hash, answer });
    }
    for (const change of changesOf(this.call, this.caller)) await this.parts.store.changes.append(change);
    await audit.append(auditEntry(this.parts.store, this.call, this.caller, request, null));
    return response;
  }

  async #refused(request: Message | null, error: AdminError): Promise<void> {
    const entry = auditEntry(this.parts.store, this.call, this.caller, request, error);
    await this.refusals.add(this.call.method.name, entry);
  }

  /** The change is on disk before the workers are notified: where they do not confirm, the answer reports both. */
  async #confirm(): Promise<void> {
    if (this.caller.forgets.length === 0) return;
    try {
      await this.parts.changed([...this.caller.forgets]);
    } catch (error) {
      throw new AdminError(
        'unavailable',
        'The change is stored, but not every data worker has confirmed it. Look at the list before you repeat it.',
        error,
      );
    }
  }
}

/** The changes of a call, as sent to other nodes and clients. */
export function changesOf({ method }: Pick<Inbound, 'method'>, caller: Caller): NewChange[] {
  const { resource, action } = method.access;
  return caller.changes.map(({ id, slug, workspaceId, ...own }, i) => ({
    organisationId: caller.organisationId,
    workspaceId,
    kind: own.kind ?? resource,
    id,
    slug: slug ?? null,
    action: own.action ?? (action === 'create' || action === 'delete' ? action : 'update'),
    // With the first alone: other nodes' workers forget all of it at once.
    forget: i === 0 ? caller.forgets : [],
  }));
}

/** The key under which an answer is kept, and the digest that detects another request; null: not requested. */
function repeatOf(
  method: AdminMethod,
  caller: Caller,
  request: Message,
): { readonly key: RequestKey; readonly hash: string } | null {
  const { request_id: key, ...rest } = request;
  if (method.request.field('request_id')?.apart !== true || typeof key !== 'string' || key === '')
    return null;
  const text = `${method.name}\n${JSON.stringify(writeMessage(method.request, rest))}`;
  return {
    key: { organisationId: caller.organisationId, callerId: caller.key.keyId, key },
    hash: createHash('sha256').update(text).digest('base64url'),
  };
}
