import type { Message } from '../../../../proto/codec.js';
import { type AdminMethod, adminMethod } from '../../../../proto/tree.js';
import type { Forget } from '../../../common/ipc/messages.js';
import type { AuditEntry, NewChange, Workspace } from '../../store/store.js';
import type { Caller, CallParts, PartCall } from '../access/caller.js';
import type { Inbound } from '../access/inbound.js';
import { AdminError } from '../admin-error.js';
import type { AdminParts } from '../service.js';
import { admit } from '../shape/admission.js';
import { empty, readGiven } from '../shape/json.js';
import { auditEntry } from './audit.js';
import { changesOf } from './audited.js';
import { checkedMask, maskOfJson } from './mask.js';
import type { RefusalLog } from './refusals.js';

/** What runs for a method, by its name. */
type Methods = ReadonlyMap<string, (caller: Caller, request: Message, gone: AbortSignal) => unknown>;

/**
 * Calls of methods as parts of one call: each with its own permission, checks and audit row, all with the request id
 * of the whole, within the unit of work that the whole has opened.
 */
export class PartCalls implements CallParts {
  readonly #forgets = new Map<string, Forget>();
  #changes: NewChange[] = [];
  #entries: AuditEntry[] = [];
  /** Workspaces that parts have been about; forgotten when one is changed. */
  readonly #places = new Map<string, Workspace>();

  constructor(
    readonly parts: AdminParts,
    readonly call: Inbound,
    readonly caller: Caller,
    readonly implementations: Methods,
    readonly refusals: RefusalLog,
  ) {}

  /** Calls the method of that name with a body as REST takes it, the fields of its path among the others. */
  async run(name: string, body: Readonly<Record<string, unknown>>, etag?: string): Promise<PartCall> {
    const method = adminMethod(name);
    if (method.service === 'Workspaces' && method.access.audited) this.#places.clear();
    const caller = this.caller.again(this.#places);
    const request = admit(this.parts, method, caller, () => requestOf(method, body, etag));
    const response = (await this.implementations.get(name)!(caller, request, this.call.gone)) as Message;
    if (method.access.audited) {
      const part = this.#part(method);
      this.#changes.push(...changesOf(part, caller));
      this.#entries.push(auditEntry(this.parts.store, part, caller, request, null));
      for (const forget of caller.forgets) this.#forgets.set(JSON.stringify(forget), forget);
    }
    return { response, id: caller.changes[0]?.id ?? null };
  }

  /** May the caller call that method? */
  async may(name: string): Promise<boolean> {
    try {
      admit(this.parts, adminMethod(name), this.caller, () => {
        throw allowed;
      });
    } catch (thrown) {
      return thrown === allowed;
    }
    return true;
  }

  /** What data workers may remember of the records that were changed. */
  get forgets(): Forget[] {
    return [...this.#forgets.values()];
  }

  /** Writes what was changed: the notes for other nodes, and a row of the audit log for each part. Ends the unit. */
  async record(): Promise<void> {
    await this.parts.store.changes.appendAll(this.#changes);
    await this.parts.store.audit.appendAll(this.caller.organisationId, this.#entries);
    this.#changes = [];
    this.#entries = [];
  }

  /** Nothing of it has happened. */
  undo(): void {
    this.#forgets.clear();
    this.#changes = [];
    this.#entries = [];
  }

  /** Records the refusal of the whole. */
  async refused(error: AdminError): Promise<void> {
    await this.refusals.add(
      this.call.method.name,
      auditEntry(this.parts.store, this.call, this.caller, null, error),
    );
  }

  #part(method: AdminMethod): Inbound {
    return { ...this.call, key: () => this.call.key(), method, rest: null };
  }
}

const allowed = new AdminError('AB04', 'allowed');

/** The request of a body; what of it is null is cleared by an update. */
function requestOf(method: AdminMethod, body: Readonly<Record<string, unknown>>, etag?: string): Message {
  const { request: shape, bindings } = method;
  const request: Record<string, unknown> = { ...empty(shape), ...readGiven(shape, body) };
  if (shape.field('update_mask')?.apart === true) {
    const path = bindings[0]?.path ?? '';
    const named = maskOfJson(shape, body).filter(
      (field) => !path.includes(`{${field}}`) && field !== 'workspace_id',
    );
    request['update_mask'] = checkedMask(shape, named);
  }
  if (etag !== undefined) request['etag'] = etag;
  return request;
}
