import { createHash } from 'node:crypto';
import type { Message } from '../../proto/codec.js';
import type { AdminMethod } from '../../proto/tree.js';
import type { RequestKey } from '../store/store.js';
import { AdminError } from './admin-error.js';
import { auditEntry } from './audit.js';
import type { Inbound } from './call.js';
import type { Caller } from './caller.js';
import { readMessage, writeMessage } from './json.js';
import type { AdminParts } from './service.js';

/**
 * One call of a method that changes something: the change, the answer kept for a repetition, the notes for other nodes
 * and the audit row are one unit of work. A refusal undoes it and leaves its own row.
 */
export class AuditedCall {
  constructor(
    readonly parts: AdminParts,
    readonly call: Inbound,
    readonly caller: Caller,
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
      await this.#refused(request, AdminError.from(thrown));
      throw thrown;
    }
    await this.#confirm();
    return response;
  }

  async #once(request: Message, work: (request: Message) => Promise<Message>): Promise<Message> {
    const { idempotency, audit } = this.parts.store;
    const { method } = this.call;
    const repeat = repeatOf(method, this.caller, request);
    const kept = repeat === null ? null : await idempotency.get(repeat.key);
    if (kept !== null) {
      if (kept.requestHash !== repeat?.hash)
        throw AdminError.lost('request_id was used for another request: give each its own.');
      return readMessage(method.response, JSON.parse(kept.answer));
    }
    const response = await work(request);
    if (repeat !== null) {
      const answer = JSON.stringify(writeMessage(method.response, response));
      await idempotency.put(repeat.key, { requestHash: repeat.hash, answer });
    }
    await this.#tellNodes();
    await audit.append(auditEntry(this.parts.store, this.call, this.caller, request, null));
    return response;
  }

  async #tellNodes(): Promise<void> {
    const { resource, action } = this.call.method.access;
    // With the first alone: other nodes' workers forget all of it at once.
    let forget = this.caller.forgets;
    for (const { id, slug, workspaceId, ...own } of this.caller.changes) {
      await this.parts.store.changes.append({
        organisationId: this.caller.organisationId,
        workspaceId,
        kind: own.kind ?? resource,
        id,
        slug: slug ?? null,
        action: own.action ?? (action === 'create' || action === 'delete' ? action : 'update'),
        forget,
      });
      forget = [];
    }
  }

  async #refused(request: Message | null, error: AdminError): Promise<void> {
    const { store, log } = this.parts;
    try {
      const entry = auditEntry(store, this.call, this.caller, request, error);
      await store.unit(this.caller.organisationId, () => store.audit.append(entry));
    } catch (failure) {
      log.error({ err: failure, method: this.call.method.path }, 'a refusal is not in the audit log');
    }
  }

  /** The change is on disk before the workers are told: where they do not confirm, the answer says both. */
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

/** Under which key an answer is kept, and what tells another request; null: the caller asked for no such thing. */
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
