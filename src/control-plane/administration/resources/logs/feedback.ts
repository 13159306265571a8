import type { LogFeedback } from '../../../../../proto/messages.js';
import { type TraceFeedback, weightOf } from '../../../../common/ledger/logs/feedback.js';
import { uuidv7 } from '../../../../common/text/id.js';
import type { Caller } from '../../access/caller.js';
import { AdminError } from '../../admin-error.js';
import { timeOf } from '../../grpc/wire.js';
import type { AdminParts, Service } from '../../service.js';

/** The workspace of the key. Throws AB03 for keys of the organisation. */
export function ownWorkspace({ workspaceId }: Caller): string {
  if (workspaceId === null) throw new AdminError('AB03', 'This is for keys of a workspace alone.');
  return workspaceId;
}

/** As a log has it. */
export const feedbackOf = (given: TraceFeedback, seesMetadata: boolean): LogFeedback => ({
  id: given.id,
  value: given.value,
  weight: given.weight,
  metadata: seesMetadata ? given.metadata : {},
  created_at: timeOf(given.createdAt),
  last_updated_at: timeOf(given.updatedAt),
  guardrail_id: given.guardrail,
  api_key_id: given.key,
});

function wholeValue(value: number | null | undefined, path: string): number {
  if (!Number.isInteger(value)) throw AdminError.field(path, 'must be a whole number from -10 to 10.');
  return value as number;
}

const done = (message: string, ids: readonly string[]) => ({
  status: 'success',
  message,
  feedback_ids: [...ids],
});

/** What users think of answers. */
export function feedbackService({ feedbacks }: AdminParts): Service<'Feedback'> {
  return {
    async CreateFeedback(caller, { feedbacks: given }) {
      const { organisationId: org, key } = caller;
      const workspace = ownWorkspace(caller);
      const now = Date.now();
      // Of one time: their ids keep the order in which they were given.
      const ids = given.map(() => uuidv7()).sort();
      const added = given.map(
        (one, i): TraceFeedback => ({
          id: ids[i]!,
          org,
          workspace,
          trace: one.trace_id,
          key: key.keyId,
          guardrail: null,
          value: wholeValue(one.value, `feedbacks[${i}].value`),
          weight: weightOf(one.weight),
          metadata: one.metadata ?? {},
          createdAt: now,
          updatedAt: now,
          rowId: null,
          rowAt: null,
        }),
      );
      await feedbacks.add(added);
      return done(
        'Feedback successfully saved',
        added.map(({ id }) => id),
      );
    },

    async UpdateFeedback(caller, { id, value, weight, metadata }) {
      const workspace = ownWorkspace(caller);
      const isThere = await feedbacks.update(caller.organisationId, workspace, id, {
        value: wholeValue(value, 'value'),
        ...(weight !== null && weight !== undefined && { weight: weightOf(weight) }),
        ...(metadata && { metadata }),
      });
      if (!isThere) throw new AdminError('AB08', 'There is no such feedback.');
      return done('Feedback successfully updated', [id]);
    },
  };
}
