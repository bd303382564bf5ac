// A share as a bar, such as usage of a limit.

interface MeterProps {
  label: string;
  value: number;
  max: number;
  /** Screen readers read it instead of the bare share. */
  text: string;
}

export function Meter({ label, value, max, text }: MeterProps) {
  const share = max > 0 ? Math.min(1, value / max) : 1;
  const tone = share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : 'good';
  return (
    // biome-ignore lint/a11y/useSemanticElements: a <meter> cannot be styled
    <div
      class={`meter ${tone}`}
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={Math.round(share * 100)}
      aria-valuetext={text}
    >
      <span style={{ inlineSize: `${share * 100}%` }} />
    </div>
  );
}
