import { genAiOperation, genAiProvider } from '../../common/vocabulary/genai-names.js';
import type { RowBatch } from '../ledger/ledger.js';
import { Histogram } from './histogram.js';
import { KnownValues, LabelSets } from './label-sets.js';
import type { MetricFamily, MetricSample } from './metric-family.js';
import { type SettledFacts, type SharedFacts, settledFacts } from './settled-rows.js';

/** Seconds. Those that OpenTelemetry recommends for calls of models: 0.01 doubled up to 81.92. */
const callSeconds = Array.from({ length: 14 }, (_, i) => Number((0.01 * 2 ** i).toFixed(2)));
/** Seconds that the gateway adds. */
const ownSeconds = [0.00025, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1];
/** Powers of four, as OpenTelemetry recommends for tokens. */
const tokenCounts = Array.from({ length: 14 }, (_, i) => 4 ** i);

const picodollarsPerDollar = 1e12;

interface Count {
  value: number;
}

/** What the requests with certain labels add to. Functions: made only where something is added. */
interface RequestCounts {
  readonly requests: Count;
  readonly duration: Histogram;
  readonly overhead: Histogram;
  readonly operation: Histogram | null;
  readonly firstChunk: Histogram | null;
  readonly inputUsage: Histogram | null;
  readonly outputUsage: Histogram | null;
  cost(): Count;
  input(): Count;
  output(): Count;
  /** Attempts that succeeded. */
  answered(): Count;
}

function onceMade<Made>(make: () => Made): () => Made {
  let made: Made | null = null;
  return () => (made ??= make());
}

const counter = (): Count => ({ value: 0 });
const histogramOf = (bounds: readonly number[]) => () => new Histogram(bounds);

/**
 * Metrics of requests, counted from their rows when these are put into the ledger: a data worker does nothing for
 * them. Neither key, user, trace, address nor metadata is a label; the most lines that callers can cause is about 4,000.
 */
export class RequestMetrics {
  readonly #models = new KnownValues(100);
  readonly #requests = new LabelSets(['route', 'status_class', 'provider', 'model', 'cache'], 600, counter);
  readonly #durations = new LabelSets(['route', 'status_class'], 60, histogramOf(callSeconds));
  readonly #overheads = new LabelSets(['route'], 20, histogramOf(ownSeconds));
  readonly #attempts = new LabelSets(['provider', 'outcome'], 300, counter);
  readonly #tokens = new LabelSets(['provider', 'model', 'type'], 250, counter);
  readonly #costs = new LabelSets(['provider', 'model'], 150, counter);
  readonly #operations = new LabelSets(genAiLabels, 25, histogramOf(callSeconds));
  readonly #firstChunks = new LabelSets(genAiLabels, 25, histogramOf(callSeconds));
  readonly #usages = new LabelSets([...genAiLabels, 'gen_ai_token_type'], 50, histogramOf(tokenCounts));

  /** Counts the rows of a batch that the ledger has taken. */
  count(batch: RowBatch): void {
    // Rows with the same labels share these objects: they are looked up once for each.
    const counts = new Map<SharedFacts, RequestCounts>();
    for (const facts of settledFacts(batch)) {
      let found = counts.get(facts.shared);
      if (found === undefined) {
        found = this.#countsOf(facts.shared);
        counts.set(facts.shared, found);
      }
      this.#count(facts, found);
    }
  }

  #countsOf({
    endpoint,
    status,
    provider: name,
    model: wanted,
    cache,
    stream,
    attemptCount,
  }: SharedFacts): RequestCounts {
    const provider = name ?? '';
    const model = this.#models.of(wanted);
    const statusClass = `${Math.floor(status / 100)}xx`;
    const operation = attemptCount > 0 && name !== null ? genAiOperation(endpoint) : null;
    const call = operation === null ? null : ([operation, genAiProvider(provider)] as const);
    return {
      requests: this.#requests.of(endpoint, statusClass, provider, model, cache),
      duration: this.#durations.of(endpoint, statusClass),
      overhead: this.#overheads.of(endpoint),
      cost: onceMade(() => this.#costs.of(provider, model)),
      input: onceMade(() => this.#tokens.of(provider, model, 'input')),
      output: onceMade(() => this.#tokens.of(provider, model, 'output')),
      answered: onceMade(() => this.#attempts.of(provider, 'success')),
      operation: call && this.#operations.of(...call),
      firstChunk: call && stream ? this.#firstChunks.of(...call) : null,
      inputUsage: call && this.#usages.of(...call, 'input'),
      outputUsage: call && this.#usages.of(...call, 'output'),
    };
  }

  #count(facts: SettledFacts, counts: RequestCounts): void {
    const { cost, inputTokens, outputTokens, total, firstByte } = facts;
    counts.requests.value++;
    counts.duration.observe(total, facts);
    counts.overhead.observe(Math.max(0, total - facts.upstream), facts);
    if (facts.shared.attemptCount > 0) this.#countAttempts(facts, counts);
    if (cost !== null && cost > 0) counts.cost().value += cost / picodollarsPerDollar;
    counts.operation?.observe(total, facts);
    if (firstByte !== null) counts.firstChunk?.observe(firstByte, facts);
    if (inputTokens > 0) {
      counts.input().value += inputTokens;
      counts.inputUsage?.observe(inputTokens, facts);
    }
    if (outputTokens > 0) {
      counts.output().value += outputTokens;
      counts.outputUsage?.observe(outputTokens, facts);
    }
  }

  #countAttempts({ shared, attempts }: SettledFacts, counts: RequestCounts): void {
    // The usual case needs no look at the attempts themselves.
    const isPlain = shared.attemptCount === 1 && shared.error === null && shared.status < 300;
    if (isPlain && shared.provider !== null) {
      counts.answered().value++;
      return;
    }
    for (const { provider, error } of attempts()) this.#attempts.of(provider, error ?? 'success').value++;
  }

  read(): MetricFamily[] {
    return [
      counters('gateway_requests_total', 'Requests that have ended.', this.#requests),
      histograms(
        'gateway_request_duration_seconds',
        'Time from a request to the end of its answer.',
        this.#durations,
      ),
      histograms(
        'gateway_overhead_seconds',
        'Time of a request in which no provider was waited for.',
        this.#overheads,
      ),
      counters(
        'gateway_upstream_attempts_total',
        'Calls to providers, by outcome: success, or the code of the error.',
        this.#attempts,
      ),
      counters('gateway_tokens_total', 'Tokens that were used.', this.#tokens),
      counters('gateway_cost_dollars_total', 'Cost of requests whose price is known.', this.#costs),
      histograms(
        'gen_ai_client_operation_duration_seconds',
        'Time of calls of models, repetitions included.',
        this.#operations,
      ),
      histograms(
        'gen_ai_client_operation_time_to_first_chunk_seconds',
        'Time to the first piece of a streamed answer.',
        this.#firstChunks,
      ),
      histograms('gen_ai_client_token_usage', 'Tokens of a request, by type.', this.#usages),
    ];
  }
}

const genAiLabels = ['gen_ai_operation_name', 'gen_ai_provider_name'];

const counters = (name: string, help: string, sets: LabelSets<Count>): MetricFamily => ({
  ...{ name, type: 'counter', help },
  samples: sets.map((labels, { value }): MetricSample[] => [{ labels, value }]),
});

const histograms = (name: string, help: string, sets: LabelSets<Histogram>): MetricFamily => ({
  ...{ name, type: 'histogram', help },
  samples: sets.map((labels, histogram) => histogram.samples(labels)),
});
