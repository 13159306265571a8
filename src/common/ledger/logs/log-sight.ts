/** Whose requests are read. Tenant first: an organisation always. */
export interface LogSight {
  readonly org: string;
  /** Ids; null: of all workspaces, and requests that ended before a key was recognised. */
  readonly workspaces: readonly string[] | null;
  /** Ids of workspaces that are not in sight. */
  readonly except: readonly string[];
  /** Ids of the gateway keys whose requests are in sight; null: of all. */
  readonly keys: readonly string[] | null;
}
