import type {
  GuardrailActions as ActionsMessage,
  GuardrailCheck as CheckMessage,
  GuardrailFeedback as FeedbackMessage,
  GuardrailSummary,
  GuardrailTestScore,
} from '../../../../../proto/messages.js';
import { findingsOfCheck } from '../../../../common/guardrails/guardrail-findings.js';
import { maxPathLength, textPath } from '../../../../common/guardrails/text-path.js';
import type { Forget } from '../../../../common/ipc/messages.js';
import { maskedSecret, withKeptSecrets } from '../../../store/secrets/guardrail-secrets.js';
import type {
  Guardrail,
  GuardrailActions,
  GuardrailFeedback,
  GuardrailWithContent,
  StoredCheck,
} from '../../../store/store.js';
import type { Caller } from '../../access/caller.js';
import { AdminError, mostFaults } from '../../admin-error.js';
import { setOf } from '../../audit/mask.js';
import { pageOf, textOf, timeOf } from '../../grpc/wire.js';
import { inSight, needReach, scopeOf, settled } from '../../records.js';
import { usesOf } from '../../references/guardrail-uses.js';
import { nobodysKey } from '../../references/nobodys-key.js';
import type { AdminParts, Service } from '../../service.js';

const toSummary = (guardrail: Guardrail): GuardrailSummary => ({
  id: guardrail.id,
  name: guardrail.name,
  slug: guardrail.slug,
  organisation_id: guardrail.organisationId,
  workspace_id: guardrail.workspaceId,
  status: guardrail.status,
  created_at: timeOf(guardrail.createdAt),
  last_updated_at: timeOf(guardrail.updatedAt),
  owner_id: guardrail.ownerId,
  updated_by: guardrail.updatedBy,
  etag: guardrail.etag,
});

/** Workers forget all of them: one may be remembered by its id and by its slug, in each workspace. */
const forgets: readonly Forget[] = [{ kind: 'guardrail', workspace: null, name: '*' }];

const checkOf = (given: CheckMessage): StoredCheck => ({
  id: given.id,
  parameters: given.parameters ?? {},
  name: given.name ?? null,
  isEnabled: given.is_enabled ?? true,
});

/** The checks that a request gives. A mask of a secret that `before` holds keeps that secret. */
function checksOf(given: readonly CheckMessage[], before: readonly StoredCheck[]): StoredCheck[] {
  const checks = withKeptSecrets(given.map(checkOf), before);
  const findings = checks.flatMap(({ id, parameters }, i) => findingsOfCheck(id, parameters, `checks[${i}]`));
  if (findings.length > 0)
    throw AdminError.fields(
      findings.slice(0, mostFaults).map(({ path, message }) => ({ path, problem: `${message}.` })),
    );
  const path = maskedSecret(checks);
  if (path !== null) throw AdminError.field(path, 'is the mask of a secret: give the secret itself.');
  return checks;
}

const checkMessage = (check: StoredCheck): CheckMessage => ({
  id: check.id,
  parameters: check.parameters,
  name: check.name,
  is_enabled: check.isEnabled,
});

const feedbackOf = (given: FeedbackMessage, usual: number): GuardrailFeedback => ({
  value: given.value ?? usual,
  weight: given.weight ?? 1,
  metadata: given.metadata ?? '',
});

function pathsOf(paths: readonly string[]): readonly string[] {
  for (const [i, path] of paths.entries()) {
    if (path.length > maxPathLength || !textPath.test(path))
      throw AdminError.field(
        `actions.passthrough_paths[${i}]`,
        'must be a path of texts in a body, as in messages[*].content.',
      );
  }
  return paths;
}

const actionsOf = (given: ActionsMessage): GuardrailActions => ({
  deny: given.deny,
  async: given.async,
  sequential: given.sequential ?? false,
  ...(given.soft_deny_200 === true && { softDeny: true }),
  ...(given.stream === 'incremental' && { incremental: true }),
  ...(given.passthrough === 'allow' && { passthroughAllowed: true }),
  ...(given.passthrough_paths.length > 0 && { passthroughPaths: pathsOf(given.passthrough_paths) }),
  onSuccess: feedbackOf(given.on_success.feedback, 5),
  onFail: feedbackOf(given.on_fail.feedback, -5),
});

const actionsMessage = ({ onSuccess, onFail, ...flags }: GuardrailActions): ActionsMessage => ({
  ...{ deny: flags.deny, async: flags.async, sequential: flags.sequential },
  soft_deny_200: flags.softDeny ?? false,
  stream: flags.incremental === true ? 'incremental' : 'end',
  passthrough: flags.passthroughAllowed === true ? 'allow' : 'refuse',
  passthrough_paths: [...(flags.passthroughPaths ?? [])],
  on_success: { feedback: onSuccess },
  on_fail: { feedback: onFail },
});

interface LabelledVerdict {
  readonly label?: string | null;
  readonly verdict: boolean;
}

/** undefined: no text has a label. */
function scoreOf(all: readonly LabelledVerdict[]): GuardrailTestScore | undefined {
  const labelled = all.filter(({ label }) => label != null);
  if (labelled.length === 0) return undefined;
  const found = labelled.filter(({ verdict }) => !verdict);
  const wanted = labelled.filter(({ label }) => label === 'fail');
  const right = found.filter(({ label }) => label === 'fail').length;
  return {
    labelled: labelled.length,
    precision: found.length === 0 ? null : right / found.length,
    recall: wanted.length === 0 ? null : right / wanted.length,
  };
}

/** Checks of requests and answers, of a workspace or of the organisation. */
export function guardrailsService({ store, explain }: AdminParts): Service<'Guardrails'> {
  async function changeable(
    caller: Caller,
    { id, workspace_id }: { readonly id: string; readonly workspace_id?: string | null },
  ): Promise<GuardrailWithContent> {
    const found = await store.guardrails.get(caller.organisationId, id);
    const active = found?.status === 'active' ? found : null;
    const guardrail = await inSight(caller, workspace_id, active, 'guardrail');
    needReach(caller, guardrail, 'guardrail');
    return guardrail;
  }

  return {
    async CreateGuardrail(caller, request) {
      if (request.workspace_id && request.organisation_id)
        throw AdminError.field('organisation_id', 'does not go together with workspace_id.');
      for (const name of ['workspace_id', 'organisation_id'] as const)
        if (request[name] === '') throw AdminError.field(name, 'is empty: give an id, or leave it out.');
      const workspaceId = await scopeOf(caller, request);
      needReach(caller, { workspaceId }, 'guardrail');
      const made = await store.guardrails.create(caller.organisationId, workspaceId, {
        name: textOf('name', request.name),
        checks: checksOf(request.checks, []),
        actions: actionsOf(request.actions),
        by: caller.id,
      });
      if (made === 'missing') throw new AdminError('AB02', 'workspace_id: there is no such workspace.');
      caller.changed(made, forgets);
      return { id: made.id, slug: made.slug, version_id: made.versionId };
    },

    async ListGuardrails(caller, request) {
      const workspaceId = await scopeOf(caller, request, { archived: true });
      const page = pageOf(request, 100);
      const { total, rows } = await store.guardrails.list(caller.organisationId, workspaceId, page);
      return { total, data: rows.map(toSummary) };
    },

    async GetGuardrail(caller, { id, workspace_id }) {
      const found = await store.guardrails.get(caller.organisationId, id);
      const guardrail = await inSight(caller, workspace_id, found, 'guardrail');
      return {
        ...toSummary(guardrail),
        checks: guardrail.checks.map(checkMessage),
        actions: actionsMessage(guardrail.actions),
        version_id: guardrail.versionId,
      };
    },

    async UpdateGuardrail(caller, request) {
      const before = await changeable(caller, request);
      const [checks, actions] = [setOf(request, 'checks'), setOf(request, 'actions')];
      const answer = await store.guardrails.update(caller.organisationId, before.id, {
        name: setOf(request, 'name')?.trim(),
        checks:
          checks && checksOf(checks, (await store.guardrails.open(before.organisationId, before.id)) ?? []),
        actions: actions && actionsOf(actions),
        by: caller.id,
        etag: request.etag ?? undefined,
      });
      const guardrail = settled(answer, 'guardrail');
      caller.changed(guardrail, forgets);
      const { id, slug, versionId } = guardrail;
      return { id, slug, version_id: versionId === before.versionId ? null : versionId };
    },

    async TestGuardrail(caller, { id, workspace_id, texts, phase }) {
      const found = await store.guardrails.get(caller.organisationId, id);
      const active = found?.status === 'active' ? found : null;
      const guardrail = await inSight(caller, workspace_id, active, 'guardrail');
      const asked = { organisationId: caller.organisationId, workspaceId: guardrail.workspaceId };
      const lists = { before: 'input_guardrails', after: 'output_guardrails' };
      const config = {
        provider: 'openai',
        api_key: 'none',
        [lists[phase === 'after' ? 'after' : 'before']]: [guardrail.slug],
      };
      const explained = await explain?.({
        ...{ key: nobodysKey(asked), path: '/v1/chat/completions', headers: [] },
        config: JSON.stringify(config),
        body: JSON.stringify({ model: 'test', messages: [{ role: 'user', content: 'test' }] }),
        judge: { phase: phase === 'after' ? 'after' : 'before', texts: texts.map(({ text }) => text) },
      });
      if (!explained?.judged)
        throw new AdminError('unavailable', 'No data worker could run the checks in time: try fewer texts.');
      const results = explained.judged;
      return {
        results: results.map(({ verdict, ms, transformed, hook }) => ({
          ...{ verdict, ms, transformed, hook },
          status: verdict ? 200 : guardrail.actions.deny ? 446 : 246,
        })),
        score: scoreOf(texts.map(({ label }, i) => ({ label, verdict: results[i]?.verdict === true }))),
      };
    },

    async DeleteGuardrail(caller, request) {
      const guardrail = await changeable(caller, request);
      const { id, slug } = guardrail;
      const uses = await usesOf(store, guardrail);
      if (uses !== '')
        throw new AdminError('AB07', `${slug} is still used by ${uses}: remove it there first.`);
      const change = { status: 'archived', by: caller.id, etag: request.etag ?? undefined } as const;
      const gone = await store.guardrails.update(caller.organisationId, id, change);
      caller.changed(settled(gone, 'guardrail'), forgets);
      return {};
    },
  };
}
