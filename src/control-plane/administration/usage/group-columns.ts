import type { GroupFigure, GroupsQuestion } from '../../analytics/question.js';
import { AdminError } from '../admin-error.js';

/** The columns of a group, in the order of the answer. */
const groupColumnNames = [
  'requests',
  'cost',
  'total_tokens',
  'avg_tokens',
  'avg_input_tokens',
  'avg_output_tokens',
  'avg_latency',
  'p95_latency',
  'p99_latency',
  'success_rate',
  'error_count',
  'cache_hit_rate',
  'last_seen',
  'first_seen',
] as const satisfies readonly GroupFigure[];

/** The columns that a text with commas names, besides the number of requests. Throws AB01. */
export function groupColumnsOf(text: string | null | undefined): readonly GroupFigure[] {
  const names = (text ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '' && name !== 'group_key');
  const columns = groupColumnNames.filter((name) => names.includes(name));
  const unknown = names.find((name) => !(groupColumnNames as readonly string[]).includes(name));
  if (unknown !== undefined)
    throw AdminError.field(
      'columns',
      `must be names, with commas between them, of ${groupColumnNames.join(', ')}.`,
    );
  return columns;
}

interface OrderRequest {
  readonly order_by?: string | null;
  readonly order_by_type?: string | null;
}

const keyNames = ['group_key', 'user', 'ai_model', 'workspace', 'metadata_value'];

/** Most requests first unless the request wants another order. `figures`: those that the groups have beside requests. */
export function orderOf(
  { order_by, order_by_type }: OrderRequest,
  figures: readonly GroupFigure[],
): Pick<GroupsQuestion, 'orderBy' | 'isDescending'> {
  const isDescending = order_by_type !== 'asc';
  if (!order_by) return { orderBy: 'requests', isDescending };
  if (keyNames.includes(order_by)) return { orderBy: 'key', isDescending };
  const column =
    groupColumnNames.find((name) => name === order_by) ?? figures.find((name) => name === order_by);
  if (column === undefined)
    throw AdminError.field('order_by', `must be one of group_key, ${groupColumnNames.join(', ')}.`);
  return { orderBy: column, isDescending };
}
