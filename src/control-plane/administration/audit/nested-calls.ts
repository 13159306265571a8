import type { Message } from '../../../../proto/codec.js';
import { type AdminMethod, adminMethod } from '../../../../proto/tree.js';
import type { Forget } from '../../../common/ipc/messages.js';
import type { AuditEntry, NewChange, Workspace } from '../../store/store.js';
import type { Caller, NestedCall, NestedCalls } from '../access/caller.js';
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
 * Calls of other methods as parts of one call: each with its own permission, checks and audit row, all with the request
 * id and in the unit of work of the whole call.
 */
export class AuditedNestedCalls implements NestedCalls {
  readonly #forgets = new Map<string, Forget>();
  #changes: NewChange[] = [];
  #entries: AuditEntry[] = [];
  /** Workspaces that the parts have read; cleared when one is changed. */
  readonly #knownWorkspaces = new Map<string, Workspace>();

  constructor(
    readonly parts: AdminParts,
    readonly call: Inbound,
    readonly caller: Caller,
    readonly implementations: Methods,
    readonly refusals: RefusalLog,
  ) {}

  /** Calls the method of that name with a body as over REST, fields of the path included. */
  async run(name: string, body: Readonly<Record<string, unknown>>, etag?: string): Promise<NestedCall> {
    const method = adminMethod(name);
    if (method.service === 'Workspaces' && method.access.audited) this.#knownWorkspaces.clear();
    const caller = this.caller.withoutChanges(this.#knownWorkspaces);
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

  /** What data workers have to forget because of the changes. */
  get forgets(): Forget[] {
    return [...this.#forgets.values()];
  }

  /** Stores the changes for other nodes, and an audit row for each part. The last step of the unit of work. */
  async record(): Promise<void> {
    await this.parts.store.changes.appendAll(this.#changes);
    await this.parts.store.audit.appendAll(this.caller.organisationId, this.#entries);
    this.#changes = [];
    this.#entries = [];
  }

  /** Drops the collected changes: the unit of work was rolled back. */
  undo(): void {
    this.#forgets.clear();
    this.#changes = [];
    this.#entries = [];
  }

  /** Stores an audit row of the refusal of the whole call. */
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

/** The request message of a body. In an update, fields that are null are cleared. */
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
