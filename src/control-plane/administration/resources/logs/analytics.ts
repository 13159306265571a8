import type { GraphRequest } from '../../../../../proto/messages.js';
import { GatewayError } from '../../../../common/core/errors.js';
import type {
  Analytics,
  Figures,
  FlatFigures,
  GraphAnswer,
  GraphName,
  GroupFigure,
  GroupsAnswer,
  GroupsQuestion,
} from '../../../analytics/question.js';
import type { Caller } from '../../access/caller.js';
import { AdminError } from '../../admin-error.js';
import { pageOf, timeOf } from '../../grpc/wire.js';
import type { AdminParts, Service } from '../../service.js';
import { aboutLogs, groupName, rangeOf } from '../../usage/analytics-questions.js';
import { groupColumnsOf, orderOf } from '../../usage/group-columns.js';
import { groupNames } from '../../usage/group-names.js';
import type { FiltersOrSaved } from '../../usage/saved-filter.js';
import { listAnomalies } from './anomalies.js';
import { answerWhatIf } from './what-if.js';

/** Graphs that can have series. */
const withSeries: readonly GraphName[] = ['requests', 'cost', 'tokens', 'latency', 'ttft', 'errors'];
/** Placeholders of metadata that are listed. */
const mostValues = 10_000;

const noAnalytics: Analytics = {
  ask() {
    throw new GatewayError('store_unavailable', 'This node has no analytics.');
  },
};

type GroupsOf = Pick<GroupsQuestion, 'by' | 'figures' | 'orderBy' | 'isDescending'>;

interface PagedGroups extends FiltersOrSaved {
  readonly current_page?: number | null;
  readonly page_size?: number | null;
  readonly include_total?: boolean | null;
}

const timed = (points: readonly Figures[]) =>
  points.map((point) =>
    point['timestamp'] === undefined ? point : { ...point, timestamp: timeOf(Number(point['timestamp'])) },
  );

/** Figures whose types are those of the proto file: the graphs are made by one table. */
// biome-ignore lint/suspicious/noExplicitAny: each graph has messages of its own.
type AnyMessage = any;

/** What passed through the gateway, in figures. */
export function analyticsService(parts: AdminParts): Service<'Analytics'> {
  const { store, analytics = noAnalytics } = parts;

  async function graph(caller: Caller, name: GraphName, request: GraphRequest): Promise<AnyMessage> {
    if (request.group_by && !withSeries.includes(name))
      throw AdminError.field('group_by', `is a field of these graphs alone: ${withSeries.join(', ')}.`);
    const groupBy = request.group_by ? groupName(request.group_by) : null;
    const about = await aboutLogs(caller, request);
    const range = rangeOf(about.filters);
    const answer = await analytics.ask({ kind: 'graph', graph: name, groupBy, range, ...about });
    return {
      summary: answer.summary,
      data_points: timed(answer.points),
      object: 'analytics-graph',
      series: groupBy === null ? undefined : await seriesOf(caller, groupBy, answer),
    };
  }

  async function seriesOf(caller: Caller, by: string, { series }: GraphAnswer) {
    const keys = (series ?? []).filter(({ isOther }) => !isOther).map(({ key }) => key);
    const names = await groupNames(store, caller.organisationId, by, keys);
    return (series ?? []).map(({ key, isOther, summary, points }) => ({
      group_key: key === null || isOther ? key : (names.get(key) ?? key),
      summary,
      data_points: timed(points),
    }));
  }

  async function groups(
    caller: Caller,
    request: PagedGroups,
    wanted: GroupsOf,
    allWorkspaces = false,
  ): Promise<GroupsAnswer> {
    const about = await aboutLogs(caller, request, { allWorkspaces, metadata: 'metadata' in wanted.by });
    rangeOf(about.filters);
    const hasTotal = request.include_total ?? true;
    return analytics.ask({ kind: 'groups', ...about, ...wanted, ...pageOf(request), hasTotal });
  }

  const listed = <T>({ total, rows }: GroupsAnswer, row: (key: string | null, of: FlatFigures) => T) => ({
    object: 'list' as const,
    total: total ?? undefined,
    data: rows.map(({ key, figures }) => ({
      ...withTimes(figures),
      ...row(key, figures),
      object: 'analytics-group' as const,
    })) as AnyMessage,
  });

  const byRequests = (request: OrderedRequest, figures: readonly GroupFigure[]) => ({
    figures,
    ...orderOf(request, figures),
  });

  return {
    GraphRequests: (caller, request) => graph(caller, 'requests', request),
    GraphCost: (caller, request) => graph(caller, 'cost', request),
    GraphLatency: (caller, request) => graph(caller, 'latency', request),
    GraphTtft: (caller, request) => graph(caller, 'ttft', request),
    GraphTokens: (caller, request) => graph(caller, 'tokens', request),
    GraphUsers: (caller, request) => graph(caller, 'users', request),
    GraphUsersRequests: (caller, request) => graph(caller, 'users/requests', request),
    GraphErrors: (caller, request) => graph(caller, 'errors', request),
    GraphErrorsRate: (caller, request) => graph(caller, 'errors/rate', request),
    GraphErrorsStacks: (caller, request) => graph(caller, 'errors/stacks', request),
    GraphErrorsStatusCodes: (caller, request) => graph(caller, 'errors/status-codes', request),
    GraphRequestsRescued: (caller, request) => graph(caller, 'requests/rescued', request),
    GraphCacheHitRate: (caller, request) => graph(caller, 'cache/hit-rate', request),
    GraphCacheLatency: (caller, request) => graph(caller, 'cache/latency', request),
    GraphFeedbacks: (caller, request) => graph(caller, 'feedbacks', request),
    GraphFeedbacksScores: (caller, request) => graph(caller, 'feedbacks/scores', request),
    GraphFeedbacksWeighted: (caller, request) => graph(caller, 'feedbacks/weighted', request),
    GraphFeedbacksAiModels: (caller, request) => graph(caller, 'feedbacks/ai-models', request),

    async SummarizeCache(caller, request) {
      if (request.group_by) throw AdminError.field('group_by', 'is no field of a summary.');
      const about = await aboutLogs(caller, request);
      rangeOf(about.filters);
      const summary = (await analytics.ask({ kind: 'cache', ...about })) as AnyMessage;
      return { summary, object: 'analytics-summary' };
    },

    async GroupUsers(caller, request) {
      const wanted = { by: { user: true } as const, ...byRequests(request, ['cost']) };
      return listed(await groups(caller, request, wanted), (key) => ({ user: key }));
    },

    async GroupAiModels(caller, request) {
      const wanted = { by: { column: 'model' } as const, ...byRequests(request, []) };
      return listed(await groups(caller, request, wanted), (key) => ({ ai_model: key }));
    },

    async GroupWorkspaces(caller, request) {
      const wanted = { by: { column: 'workspace' } as const, ...byRequests(request, ['cost']) };
      const answer = await groups(caller, request, wanted, true);
      const names = await namesOf(caller, 'workspace', answer);
      return listed(answer, (key) => ({ workspace: names(key) }));
    },

    async GroupMetadata(caller, request) {
      const figures = [
        'cost',
        'avg_tokens',
        'avg_weighted_feedback',
        'requests_with_feedback',
        'last_seen',
      ] as const;
      const wanted = { by: { metadata: request.metadata_key }, ...byRequests(request, figures) };
      return listed(await groups(caller, request, wanted), (key) => ({ metadata_value: key }));
    },

    async GroupBy(caller, request) {
      const column = groupName(request.group_by);
      const figures = groupColumnsOf(request.columns);
      const wanted = { by: { column }, ...byRequests(request, figures) };
      const answer = await groups(caller, request, wanted, column === 'workspace');
      const names = await namesOf(caller, column, answer);
      return listed(answer, (key) => ({ group_key: names(key) }));
    },

    WhatIf: (caller, request) => answerWhatIf(parts, analytics, caller, request),

    ListAnomalies: (caller, request) => listAnomalies(parts, caller, request),

    async ListMetadataValues(caller, request) {
      const about = await aboutLogs(caller, request, { metadata: true });
      const name = request.metadata_key;
      const { total, values } = await analytics.ask({ kind: 'values', name, limit: mostValues, ...about });
      return { object: 'list', total, data: [...values] };
    },
  };

  async function namesOf(caller: Caller, by: string, { rows }: GroupsAnswer) {
    const keys = rows.map(({ key }) => key);
    const names = await groupNames(store, caller.organisationId, by, keys);
    return (key: string | null): string | null => (key === null ? null : (names.get(key) ?? key));
  }
}

interface OrderedRequest {
  readonly order_by?: string | null;
  readonly order_by_type?: string | null;
}

const withTimes = (figures: FlatFigures) =>
  Object.fromEntries(
    Object.entries(figures).map(([name, value]) => [
      name,
      name.endsWith('_seen') ? timeOf(Number(value)) : value,
    ]),
  );
