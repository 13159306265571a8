import { monotonicMs } from '../../src/common/bytes/monotonic.js';
import { breakerText, describeDecision, scoreText, shortQuery } from '../../src/common/core/decision.js';
import type { Exchange } from '../../src/common/core/exchange.js';
import { type Branch, type RouteNode, targetOf } from '../../src/common/core/target.js';
import type { PlannedNode } from '../../src/common/ipc/explained.js';
import { type Balance, weightOf } from './balance/balance.js';
import { branchOf, type Chooser } from './balance/choose.js';
import { isAllOpen } from './health/all-open.js';
import type { OpenTargets, WorkerBreakers } from './health/breaker.js';

type Conditional = Extract<RouteNode, { kind: 'conditional' }>;
type Fallback = Extract<RouteNode, { kind: 'fallback' }>;

/** The steps that a walk would take with an exchange now, without calling a provider. */
export function planOf(chooser: Chooser, breakers: WorkerBreakers, x: Exchange): PlannedNode {
  const { root } = x.config;
  const open = breakers.opened(x);
  const all = open !== null && isAllOpen(x, root, open);
  return new Planner(chooser, x, open, all).plan(root, true, 'the whole config');
}

class Planner {
  #turns = 0;

  constructor(
    readonly chooser: Chooser,
    readonly x: Exchange,
    readonly open: OpenTargets | null,
    readonly allOpen: boolean,
  ) {}

  /** `asked`: would the walk reach this node if those before it failed? */
  plan(node: RouteNode, asked: boolean, reason: string): PlannedNode {
    switch (node.kind) {
      case 'target':
        return this.#target(node, asked, reason);
      case 'fallback':
        return plannedNode(node, reason, this.#inTurn(node, asked));
      case 'conditional':
        return plannedNode(node, reason, this.#branches(node, asked));
      case 'loadbalance':
        return plannedNode(node, reason, this.#balanced(node, asked));
    }
  }

  #target(node: Extract<RouteNode, { kind: 'target' }>, asked: boolean, reason: string): PlannedNode {
    const { path } = node;
    const target = targetOf(this.x.config, node);
    const open = this.open?.get(path);
    const plan = { kind: node.kind, path, name: target.name, target, children: [] };
    if (open === undefined) return { ...plan, turn: asked ? ++this.#turns : 0, reason };
    const breaker = breakerText(open.openedAt, open.reason);
    if (this.allOpen) {
      return {
        ...plan,
        turn: asked ? ++this.#turns : 0,
        reason: `${reason}; ${breaker}, and so is every other`,
      };
    }
    if (monotonicMs() < open.until) return { ...plan, turn: 0, reason: `left alone: ${breaker}` };
    return {
      ...plan,
      turn: asked ? ++this.#turns : 0,
      reason: `${reason}; ${breaker}, one request may probe`,
    };
  }

  #inTurn({ children, onStatusCodes }: Fallback, asked: boolean): readonly PlannedNode[] {
    return children.map((child, i) => this.plan(child, asked, i === 0 ? 'the first' : after(onStatusCodes)));
  }

  #branches(node: Conditional, asked: boolean): readonly PlannedNode[] {
    const held = branchOf(this.x, node);
    const taken = held?.then ?? node.otherwise;
    return node.children.map((child, i) => {
      if (i !== taken) return this.plan(child, false, this.#passedOver(node, i, held));
      const reason = held === null ? 'no condition holds: the default' : `${shortQuery(held.query)} holds`;
      return this.plan(child, asked, reason);
    });
  }

  #passedOver({ branches }: Conditional, index: number, held: Branch | null): string {
    const own = branches.filter(({ then }) => then === index);
    if (own.length === 0) return 'a condition holds: the default is not taken';
    return own
      .map((branch) => {
        const holds = held !== null && branch.test(this.x);
        return `${shortQuery(branch.query)} ${holds ? 'holds too, behind one that does' : 'does not hold'}`;
      })
      .join('; ');
  }

  #balanced(node: Balance, asked: boolean): readonly PlannedNode[] {
    const { x, chooser } = this;
    const { children } = node;
    const planned = new Map<RouteNode, PlannedNode>();
    const order = chooser.inOrder(x, node);
    // All of them if they are called in turn, two if the second is called beside the first.
    const most = node.failover !== null ? order.length : node.hedge !== null ? 2 : 1;
    for (let i = 0; i < Math.min(most, order.length); i++) {
      // Decisions are in the plan and not in the exchange, whose list is limited.
      x.route = null;
      const child = order.at(i)!;
      const why = this.#picked(node, child);
      planned.set(child, this.plan(child, asked, i === 0 ? why : `${place(node, i)}: ${why}`));
    }
    return children.map((child, i) => planned.get(child) ?? this.plan(child, false, this.#left(node, i)));
  }

  /** The reason that the chooser has just recorded. */
  #picked(node: Balance, child: RouteNode): string {
    const said = this.x.route?.at(-1);
    if (said === undefined || said.target !== child.path) return 'of those that are left';
    const { reason } = describeDecision(said);
    return said.kind === 'pick' && said.by === 'weight' ? `${reason}, ${share(node, child)}` : reason;
  }

  #left(node: Balance, index: number): string {
    const child = node.children[index]!;
    if (node.by === 'weight') return `not drawn this time, ${share(node, child)}`;
    if (weightOf(node, index) === 0) return 'never: its weight is 0';
    const score = scoreText(node.by, this.chooser.scorer(this.x, node)(index));
    return `not taken: ${score}`;
  }
}

function plannedNode(
  { kind, path }: RouteNode,
  reason: string,
  children: readonly PlannedNode[],
): PlannedNode {
  return { kind, path, name: null, turn: 0, reason, target: null, children };
}

const after = (codes: readonly number[] | null): string =>
  `where the one before it fails${codes === null ? '' : ` or answers with ${codes.join(', ')}`}`;

const place = (node: Balance, index: number): string =>
  node.failover === null
    ? 'asked beside it where it is late'
    : `number ${index + 1}, ${after(node.failover.onStatusCodes)}`;

function share(node: Balance, child: RouteNode): string {
  const part = weightOf(node, node.children.indexOf(child)) / node.cumulativeWeights.at(-1)!;
  return `its share is ${Math.round(part * 1000) / 10} %`;
}
