import { flagsInForce } from '../../../common/access/security-settings.js';
import type { LogSight } from '../../../common/ledger/logs/log-sight.js';
import { AdminError } from '../admin-error.js';
import type { Caller } from './caller.js';

/** What is asked for: the requests themselves, or figures about them. */
export type LogView = 'logs' | 'analytics';

interface VisibleMetadata {
  /** Of requests whose workspace `of` does not have. */
  readonly usual: boolean;
  readonly of: ReadonlyMap<string, boolean>;
}

/**
 * Which requests a caller sees, and of which the metadata: by its workspace, its roles and the security settings, those of a
 * workspace before those of the organisation. Every list, row, graph, group and export asks here.
 */
export class VisibleLogs {
  private constructor(
    readonly sight: LogSight,
    readonly metadata: VisibleMetadata,
  ) {}

  /**
   * `named`: id or slug of a workspace; null: the key's own, for keys of the organisation all of them. Throws AB02 for a
   * workspace that the caller does not see, AB03 where it sees no requests. The scope of the method was checked before.
   */
  static async of(caller: Caller, named: string | null, view: LogView): Promise<VisibleLogs> {
    if (caller.workspaceId !== null) return VisibleLogs.#ofKey(caller, named);
    if (caller.person?.user.role === 'owner') return VisibleLogs.#ofOwner(caller, named);
    return named === null ? VisibleLogs.#ofAll(caller, view) : VisibleLogs.#ofNamed(caller, named, view);
  }

  static async #ofKey(caller: Caller, named: string | null): Promise<VisibleLogs> {
    const { organisationId: org, workspaceId } = await caller.place(named, { archived: true });
    const sight = { org, workspaces: [workspaceId], except: [], keys: await caller.keysInSight() };
    return new VisibleLogs(sight, { usual: caller.seesLogMetadata, of: new Map() });
  }

  /** The security settings hide nothing from owners. */
  static async #ofOwner(caller: Caller, named: string | null): Promise<VisibleLogs> {
    const { organisationId: org } = caller;
    const place = named === null ? null : await caller.place(named, { archived: true });
    const workspaces = place === null ? null : [place.workspaceId];
    return new VisibleLogs({ org, workspaces, except: [], keys: null }, { usual: true, of: new Map() });
  }

  static async #ofNamed(caller: Caller, named: string, view: LogView): Promise<VisibleLogs> {
    const { organisationId: org, workspaceId } = await caller.place(named, { archived: true });
    const settings = await caller.store.organisations.settings(org, workspaceId);
    if (settings === null) throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
    const { organisation_admins_view_logs: logs, organisation_admins_view_log_metadata: usual } =
      settings.security;
    if (view === 'logs' && !logs) throw notInSight();
    return new VisibleLogs(
      { org, workspaces: [workspaceId], except: [], keys: null },
      { usual, of: new Map() },
    );
  }

  static async #ofAll(caller: Caller, view: LogView): Promise<VisibleLogs> {
    const { organisationId: org, store } = caller;
    const organisation = await store.organisations.get(org);
    const usual = flagsInForce(organisation?.securitySettings ?? {});
    const logs = new Map<string, boolean>();
    const metadata = new Map<string, boolean>();
    for (const { id, securitySettings } of await store.workspaces.withOwnFlags(org)) {
      const own = flagsInForce(organisation?.securitySettings ?? {}, securitySettings);
      logs.set(id, own.organisation_admins_view_logs);
      metadata.set(id, own.organisation_admins_view_log_metadata);
    }
    const having = (answer: boolean): string[] =>
      [...logs].flatMap(([id, sees]) => (sees === answer ? [id] : []));
    const isAll = view === 'analytics';
    const seesUsual = isAll || usual.organisation_admins_view_logs;
    const workspaces = seesUsual ? null : having(true);
    if (workspaces?.length === 0) throw notInSight();
    const sight = { org, workspaces, except: seesUsual && !isAll ? having(false) : [], keys: null };
    return new VisibleLogs(sight, { usual: usual.organisation_admins_view_log_metadata, of: metadata });
  }

  /** Is a request of that workspace, made by that key, in sight? */
  sees({ org, workspace, key }: { org: string; workspace: string | null; key: string | null }): boolean {
    const { workspaces, except, keys } = this.sight;
    if (org !== this.sight.org || (workspace !== null && except.includes(workspace))) return false;
    if (workspaces !== null && (workspace === null || !workspaces.includes(workspace))) return false;
    return keys === null || (key !== null && keys.includes(key));
  }

  /** Is the metadata of that workspace's requests in sight? */
  seesMetadata(workspace: string | null): boolean {
    return (workspace === null ? undefined : this.metadata.of.get(workspace)) ?? this.metadata.usual;
  }

  /** Throws AB03 unless all metadata is in sight: else what is hidden could be guessed by filters and groups. */
  needMetadata(): void {
    const { usual, of } = this.metadata;
    const { workspaces } = this.sight;
    const isSeen =
      workspaces === null
        ? usual && ![...of.values()].includes(false)
        : workspaces.every((id) => this.seesMetadata(id));
    if (!isSeen)
      throw new AdminError('AB03', 'metadata: the security settings hide the metadata of these requests.');
  }
}

const notInSight = (): AdminError =>
  new AdminError('AB03', 'The security settings hide these logs from keys of the organisation.');
