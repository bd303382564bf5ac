// The shape of a few weeks at a glance: small bars without axes, with the figures next to them.

interface SparkProps {
  bars: ReadonlyArray<{ key: number; value: number; title: string }>;
  /** Screen readers read it instead of the bars. */
  label: string;
}

const step = 10;
const height = 56;

export function Spark({ bars, label }: SparkProps) {
  const max = Math.max(1, ...bars.map(({ value }) => value));
  return (
    <svg
      class="spark"
      viewBox={`0 0 ${bars.length * step} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {bars.map(({ key, value, title }, index) => {
        const tall = value > 0 ? Math.max(1.5, (value / max) * (height - 2)) : 0;
        return (
          <g key={key}>
            {/* The whole column reacts to the pointer, even where the bar is low. */}
            <rect class="spark-column" x={index * step} y={0} width={step} height={height} />
            <rect
              class="spark-bar"
              x={index * step + 1.5}
              y={height - tall}
              width={step - 3}
              height={tall}
            />
            <title>{title}</title>
          </g>
        );
      })}
    </svg>
  );
}
