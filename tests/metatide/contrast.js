// The least contrast of any visible text to what it stands on, by WCAG 2.
(() => {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 1;
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const luminance = () => {
    const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].slice(0, 3).map((byte) => {
      const part = byte / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const paint = (color) => {
    context.fillStyle = color;
    context.fillRect(0, 0, 1, 1);
  };
  const hasText = (one) => one.checkVisibility()
    && [...one.childNodes].some((child) => child.nodeType === Node.TEXT_NODE && child.data.trim());
  const contrasts = [...document.querySelectorAll("body *")].filter(hasText).map((one) => {
    const chain = [];
    for (let node = one; node; node = node.parentElement) chain.unshift(node);
    for (const node of chain) paint(getComputedStyle(node).backgroundColor);
    const ground = luminance();
    paint(getComputedStyle(one).color);
    const text = luminance();
    return (Math.max(ground, text) + 0.05) / (Math.min(ground, text) + 0.05);
  });
  return Math.min(...contrasts);
})()
