import type { GuardrailFeedback } from '../../../common/core/guardrail.js';
import type { GuardrailRecord } from '../../../common/ipc/records.js';
import type { Listed, Page } from './place.js';

export type { GuardrailFeedback };

/** One check, as listed by its id in `src/common/guardrails/guardrail-checks.ts`. */
export interface StoredCheck {
  readonly id: string;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly name: string | null;
  readonly isEnabled: boolean;
}

/** What follows from the verdict. */
export interface GuardrailActions {
  readonly deny: boolean;
  readonly async: boolean;
  readonly sequential: boolean;
  /** Absent: no. */
  readonly softDeny?: boolean;
  /** Absent: no. */
  readonly incremental?: boolean;
  /** Absent: no. */
  readonly passthroughAllowed?: boolean;
  /** Absent: none. */
  readonly passthroughPaths?: readonly string[];
  readonly onSuccess: GuardrailFeedback;
  readonly onFail: GuardrailFeedback;
}

export interface Guardrail {
  readonly id: string;
  readonly organisationId: string;
  /** null: of the organisation. */
  readonly workspaceId: string | null;
  /** `pg-…`; one in the organisation. */
  readonly slug: string;
  readonly name: string;
  readonly status: 'active' | 'archived';
  readonly versionId: string;
  readonly ownerId: string | null;
  readonly updatedBy: string | null;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly etag: string;
}

export interface GuardrailContent {
  readonly checks: readonly StoredCheck[];
  readonly actions: GuardrailActions;
}

/** Secrets in its checks are masked; `open` alone gives them. */
export interface GuardrailWithContent extends Guardrail, GuardrailContent {}

export interface NewGuardrail extends GuardrailContent {
  readonly name: string;
  /** Id of the key or user that acts. */
  readonly by: string | null;
}

/** Absent: stays as it is. */
export interface GuardrailChange extends Partial<GuardrailContent> {
  readonly name?: string;
  readonly status?: Guardrail['status'];
  readonly by: string | null;
  /** The state it is made for: another one makes it `stale`. */
  readonly etag?: string;
}

/** What may apply a guardrail. */
export interface GuardrailMentions {
  /** Is it a default of the organisation? */
  readonly organisation: boolean;
  /** Slugs of active workspaces of which it is a default. */
  readonly workspaces: readonly string[];
  /** Active configs whose text has its id or slug, if only by chance. Secrets in it are masked. */
  readonly configs: readonly { readonly slug: string; readonly workspace: string; readonly text: string }[];
}

export interface GuardrailStore {
  /** By id or slug, of a workspace or the organisation's own. */
  get(organisationId: string, idOrSlug: string): Promise<GuardrailWithContent | null>;
  /** Its checks with their secrets. */
  open(organisationId: string, idOrSlug: string): Promise<readonly StoredCheck[] | null>;
  /**
   * What data workers need of an active guardrail of a workspace or its organisation. `scope`: id of the workspace, or of the
   * organisation, for its own guardrails alone.
   */
  find(scope: string, idOrSlug: string): Promise<GuardrailRecord | null>;
  /** Active ones of a workspace, newest first; `null`: the organisation's own. */
  list(organisationId: string, workspaceId: string | null, page: Page): Promise<Listed<Guardrail>>;
  create(
    organisationId: string,
    workspaceId: string | null,
    input: NewGuardrail,
  ): Promise<Guardrail | 'missing'>;
  /** Where it is mentioned: at most `most` workspaces and `most` configs. */
  mentions(guardrail: Guardrail, most: number): Promise<GuardrailMentions>;
  /** Other checks or actions make a new version; id and slug stay. */
  update(
    organisationId: string,
    idOrSlug: string,
    change: GuardrailChange,
  ): Promise<Guardrail | 'missing' | 'stale'>;
}
