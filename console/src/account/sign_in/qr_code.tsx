// A QR code as SVG; its encoder is loaded when the first code is shown.
import { useEffect, useState } from 'preact/hooks';
import '../../style/qr_code.css';

/** Light modules around it, which readers need to find it. */
const margin = 4;

interface QrCodeProps {
  text: string;
  /** The name of the picture, for screen readers. */
  label: string;
}

/**
 * Black on white in both themes, as many readers need it. Empty if the encoder cannot be loaded.
 */
export function QrCode({ text, label }: QrCodeProps) {
  const [modules, setModules] = useState<boolean[][]>();
  useEffect(() => {
    let isWanted = true;
    import('uqr').then(
      ({ encode }) => isWanted && setModules(encode(text, { ecc: 'M', border: 0 }).data),
      () => undefined,
    );
    return () => {
      isWanted = false;
    };
  }, [text]);
  const size = (modules?.length ?? 0) + 2 * margin;
  return (
    <div class="qr-code">
      {modules && (
        <svg viewBox={`0 0 ${size} ${size}`} role="img" aria-label={label}>
          <path d={pathOf(modules)} />
        </svg>
      )}
    </div>
  );
}

function pathOf(modules: boolean[][]): string {
  return modules
    .flatMap((row, y) =>
      row.map((isDark, x) => (isDark ? `M${x + margin} ${y + margin}h1v1h-1z` : '')),
    )
    .join('');
}
