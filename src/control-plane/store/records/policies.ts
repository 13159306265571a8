import type { PolicyCondition } from '../../../common/core/rate-rules.js';

export type { PolicyCondition } from '../../../common/core/rate-rules.js';

/** What policies of both kinds have. */
export interface Policy {
  readonly id: string;
  readonly organisationId: string;
  readonly workspaceId: string;
  readonly name: string | null;
  readonly description: string | null;
  /** All of them must hold. */
  readonly conditions: readonly PolicyCondition[];
  /** Keys, each value of which is counted apart. */
  readonly groupBy: readonly string[];
  readonly status: 'active' | 'archived';
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly etag: string;
}

export interface PolicyFilter {
  readonly status: Policy['status'];
  /** A part of the name. */
  readonly search?: string;
  readonly type?: string;
  readonly unit?: string;
}

/** Absent: stays as it is. */
export interface PolicyChange {
  readonly name?: string | null;
  readonly description?: string | null;
  readonly conditions?: readonly PolicyCondition[];
  readonly status?: Policy['status'];
  /** The state it is made for: another one makes it `stale`. */
  readonly etag?: string;
}
