import { chatRequest } from './chat.js';
import { residentBytes } from './cpu.js';
import { drive } from './load.js';
import { pause, type Server } from './servers.js';

/** Load for minutes; the slope of resident memory after the first fifth, by least squares. */
export async function soak(server: Server, soakMinutes: number): Promise<void> {
  const points: { minute: number; mb: number }[] = [];
  const began = performance.now();
  let over = false;
  const loads = (async () => {
    while (!over) {
      await drive({
        port: server.port,
        request: chatRequest(server, false),
        connections: 16,
        seconds: 5,
        chunked: false,
      });
      await drive({
        port: server.port,
        request: chatRequest(server, true),
        connections: 50,
        seconds: 5,
        chunked: true,
      });
    }
  })();
  while (performance.now() - began < soakMinutes * 60_000) {
    await pause(5000);
    const minute = (performance.now() - began) / 60_000;
    const mb = residentBytes(server.pids()) / 1e6;
    points.push({ minute, mb });
    process.stderr.write(`\r${minute.toFixed(1)} min: ${mb.toFixed(0)} MB   `);
  }
  over = true;
  await loads;
  const late = points.filter((point) => point.minute > soakMinutes / 5);
  const meanX = late.reduce((sum, point) => sum + point.minute, 0) / late.length;
  const meanY = late.reduce((sum, point) => sum + point.mb, 0) / late.length;
  const slope =
    late.reduce((sum, point) => sum + (point.minute - meanX) * (point.mb - meanY), 0) /
    late.reduce((sum, point) => sum + (point.minute - meanX) ** 2, 0);
  console.log(
    `\nmemory over ${soakMinutes} min: ${points[0]?.mb.toFixed(0)} → ${points.at(-1)?.mb.toFixed(0)} MB, slope ${slope.toFixed(2)} MB a minute`,
  );
}
