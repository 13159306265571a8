/** Until when logs are kept. Cutoffs in Unix milliseconds: what is older goes; null: everything stays. */
export interface LogRetention {
  readonly rowsBefore: number | null;
  readonly bodiesBefore: number | null;
  /** Workspaces that keep theirs for a shorter time. */
  readonly workspaces: readonly WorkspaceRetention[];
}

export interface WorkspaceRetention {
  readonly org: string;
  readonly workspace: string;
  readonly rowsBefore: number | null;
  readonly bodiesBefore: number | null;
}

/** Days; 0: forever. */
export interface RetentionDays {
  readonly rows: number;
  readonly bodies: number;
}

const dayMs = 86_400_000;

const shorter = (one: number, other: number): number =>
  one === 0 ? other : other === 0 ? one : Math.min(one, other);

/** Bodies go with their rows at the latest. */
function cutoffs({ rows, bodies }: RetentionDays, now: number) {
  const before = (days: number): number | null => (days === 0 ? null : now - days * dayMs);
  return { rowsBefore: before(rows), bodiesBefore: before(shorter(rows, bodies)) };
}

/** `workspaces`: what they set themselves, which only shortens what the gateway keeps. */
export function retentionAt(
  now: number,
  usual: RetentionDays,
  workspaces: readonly (RetentionDays & { readonly org: string; readonly workspace: string })[],
): LogRetention {
  return {
    ...cutoffs(usual, now),
    workspaces: workspaces.map(({ org, workspace, rows, bodies }) => ({
      org,
      workspace,
      ...cutoffs({ rows: shorter(rows, usual.rows), bodies: shorter(bodies, usual.bodies) }, now),
    })),
  };
}
