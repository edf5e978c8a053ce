"""Tokenizers of the kinds that people bring, trained on the sentences below, and what they make of drawn texts.

    pip install tokenizers==0.23.3 sentencepiece==0.2.3 protobuf
    python make.py OUT TEXTS [TOKENIZER.json ...]

writes OUT/NAME.json and OUT/texts.jsonl, a line for each text: the text, and by the name of each tokenizer its tokens. Files that
are named take part. `python make.py testdata 150` wrote what lies here; with 1,000 texts or more, xlm-r has the normalisation of
sentencepiece's own files in place of a few rules. No text has punctuation or marks that are younger than Unicode 8: the original
does not know them as such.
"""
import base64, json, pathlib, random, sys, tempfile

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

SENTENCES = """The quick brown fox jumps over the lazy dog, and it's sure they'll come back; don't you think so?
In 1969, 12.5% of 3,000 people said "yes" -- we've seen it (twice!), they're right: I'd say 1/2 of them.
Falsches Üben von Xylophonmusik quält jeden größeren Zwerg. Straße, Maß und Fuß.
Portez ce vieux whisky au juge blond qui fume; où est la Crème brûlée, l'été naïf d'Anaïs ?
El pingüino Wenceslao hizo kilómetros bajo exhaustiva lluvia y frío, ¡añoraba a su querido cachorro!
Příliš žluťoučký kůň úpěl ďábelské ódy. Pijamalı hasta yağız şoföre çabucak güvendi. İstanbul'da ışık.
Съешь же ещё этих мягких французских булок, да выпей чаю. Чуєш їх, доцю, га? Кумедна ж ти, прощайся без ґольфів!
Ξεσκεπάζω την ψυχοφθόρα βδελυγμία. Ο ΌΔΥΣΣΕΎΣ πήγε στην Ιθάκη.
נקודה אחת היא שלום עולם. صِف خَلقَ خَودِ كَمِثلِ الشَمسِ إِذ بَزَغَت. زبان فارسی‌ها
ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश करने वाले विष्णुवतार भगवान श्रीराम।
いろはにほへと ちりぬるを。東京タワーは高いです。カタカナ、ｶﾀｶﾅ、ＡＢＣ１２３ 我们去北京大学学习中文。繁體字「臺灣」
키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다. เป็นมนุษย์สุดประเสริฐเลิศคุณค่า
😀 👍🏽 👩‍👩‍👧‍👦 🏳️‍🌈 🇩🇪🇫🇷 ❤️ ™ © ½ ² ﬁ ﬂ Ⅷ № ℃ … — – ‘quoted’ “quoted” «quoted» ¥€£$ a_b c@d.org #tag x+y=z <b> ~^|`""".split("\n")
SPACES = [" ", " ", " ", " ", " ", "  ", "   ", "\t", "\n", "\r\n", "\n\n", " \n ", "\u00a0", "\u2003", "\u200b", "\u3000", "\u2028", "\u0085", "\u200d", "\ufeff", "\x00", "\u001f", "\u00ad", ""]
RANGES = [(0x20, 0x7E), (0x20, 0x7E), (0xA0, 0x17F), (0x250, 0x2AF), (0x300, 0x36F), (0x370, 0x3FF), (0x400, 0x4FF), (0x531, 0x58A), (0x5B0, 0x5F4), (0x620, 0x6FF), (0x900, 0x97F), (0xE01, 0xE3A),
          (0x10A0, 0x10FF), (0x1E00, 0x1EFF), (0x2010, 0x2060), (0x2070, 0x209C), (0x20A0, 0x20BF), (0x2100, 0x218B), (0x2190, 0x23FF), (0x2460, 0x24FF), (0x2600, 0x27BF), (0x3001, 0x30FF), (0x3400, 0x3450), (0x4E00, 0x4F00),
          (0xAC00, 0xAD00), (0xE000, 0xE010), (0xF900, 0xFA10), (0xFB00, 0xFB06), (0xFB50, 0xFBB1), (0xFF01, 0xFF9D), (0x1D400, 0x1D450), (0x1F300, 0x1F64F), (0x20000, 0x20020)]
SPECIAL = ["[CLS]", "[MASK]", "[UNK]", "<unk>", "<s>", "</s>", "<mask>", "<|endoftext|>", "<new>", "Newword", "newword", "▁", "▁▁", "##ing", "</w>", "Ġ"]
GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
GPT4 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def charsmap(full):
    """The normalisation of sentencepiece's own files, as T5 and XLM-R have it, or some of its rules."""
    with tempfile.TemporaryDirectory() as d:
        text = pathlib.Path(d, "text")
        text.write_text("\n".join(SENTENCES), encoding="utf-8")
        rules = pathlib.Path(d, "rules")
        rules.write_text("FF21\t41\nFF22\t42\nFB01\t66 69\nBD\t31 2044 32\n3000\t20\nA0\t20\n9\t20\nA\t20\nD A\t20\n65 301\tE9\n200B\t\nFF76 FF9E\t30AC\n")
        how = {"normalization_rule_name": "nmt_nfkc"} if full else {"normalization_rule_tsv": str(rules)}
        sentencepiece.SentencePieceTrainer.train(input=str(text), model_prefix=d + "/m", vocab_size=400, hard_vocab_limit=False, minloglevel=3, **how)
        from sentencepiece import sentencepiece_model_pb2 as pb  # needs protobuf
        m = pb.ModelProto()
        m.ParseFromString(pathlib.Path(d, "m.model").read_bytes())
        return m.normalizer_spec.precompiled_charsmap


def trained(model, trainer, normalizer=None, pre=None):
    t = Tokenizer(model)
    if normalizer:
        t.normalizer = normalizer
    if pre:
        t.pre_tokenizer = pre
    t.train_from_iterator(SENTENCES * 3, trainer)
    return t


def template(t, before, after):
    ids = [(x, t.token_to_id(x)) for x in before + after]
    t.post_processor = processors.TemplateProcessing(single=" ".join(before + ["$A"] + after), special_tokens=ids)
    return t


def changed(t, change):
    """t with a change of its JSON that trainers cannot make."""
    j = json.loads(t.to_str())
    change(j)
    return Tokenizer.from_str(json.dumps(j))


def tokenizers(full):
    bert = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    wordpiece = lambda: models.WordPiece(unk_token="[UNK]")
    t = trained(wordpiece(), trainers.WordPieceTrainer(vocab_size=420, special_tokens=bert, show_progress=False), normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer())
    t.add_tokens([AddedToken("Newword", normalized=True), AddedToken("<new>", normalized=False, single_word=True)])
    yield "bert", template(t, ["[CLS]"], ["[SEP]"])
    t = trained(wordpiece(), trainers.WordPieceTrainer(vocab_size=420, special_tokens=bert, show_progress=False), normalizers.BertNormalizer(lowercase=False, handle_chinese_chars=True, strip_accents=True), pre_tokenizers.BertPreTokenizer())
    t.post_processor = processors.BertProcessing(("[SEP]", t.token_to_id("[SEP]")), ("[CLS]", t.token_to_id("[CLS]")))
    yield "bert-cased", t
    t = trained(wordpiece(), trainers.WordPieceTrainer(vocab_size=420, special_tokens=bert, show_progress=False), normalizers.Sequence([normalizers.Strip(), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(), normalizers.Replace("--", "—")]),
                pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.Digits(individual_digits=True)]))
    yield "words-and-digits", t
    byte = lambda n, special: trainers.BpeTrainer(vocab_size=n, special_tokens=special, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    t = trained(models.BPE(), byte(420, ["<|endoftext|>"]), None, pre_tokenizers.ByteLevel(add_prefix_space=False))
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    yield "gpt2", t
    t = trained(models.BPE(), byte(420, ["<s>", "<pad>", "</s>", "<unk>"]), None, pre_tokenizers.ByteLevel(add_prefix_space=True))
    t.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    t.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    yield "roberta", t
    t = trained(models.BPE(), byte(420, ["<|endoftext|>"]), normalizers.NFC(), pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(GPT4), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))
    yield "gpt4", changed(t, lambda j: j["model"].update(ignore_merges=True))
    t = trained(models.BPE(end_of_word_suffix="</w>", unk_token="<|endoftext|>"), trainers.BpeTrainer(vocab_size=600, special_tokens=["<|endoftext|>"], end_of_word_suffix="</w>", initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False),
                normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]),
                pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]))
    yield "clip", t
    bytes_ = ["<0x%02X>" % b for b in range(256)]
    t = trained(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True), trainers.BpeTrainer(vocab_size=560, special_tokens=["<unk>", "<s>", "</s>"] + bytes_, limit_alphabet=120, show_progress=False),
                normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]))
    yield "llama", template(changed(t, lambda j: j.update(added_tokens=j["added_tokens"][:3])), ["<s>"], [])
    unigram = lambda n: trainers.UnigramTrainer(vocab_size=n, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False)
    t = trained(models.Unigram(), unigram(400), normalizers.Sequence([normalizers.Precompiled(charsmap(full)), normalizers.Replace(Regex(" {2,}"), " ")]),
                pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]))
    t.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    yield "xlm-r", template(t, ["<s>"], ["</s>"])
    t = trained(models.Unigram(), unigram(400), normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]), pre_tokenizers.Metaspace(prepend_scheme="first"))
    yield "unigram", template(t, [], ["</s>"])
    t = trained(models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer(special_tokens=["<unk>"], show_progress=False), normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents()]), pre_tokenizers.Whitespace())
    yield "words", t


def texts(n):
    r = random.Random(1)
    words = [w for s in SENTENCES for w in s.split()]
    for i in range(n):
        if i < len(SENTENCES):
            yield SENTENCES[i]
            continue
        text = ""
        for _ in range(r.randrange(1, 14)):
            kind = r.random()
            if kind < 0.55:
                word = r.choice(words)
                word = r.choice([word, word, word.upper(), word.lower(), word.title(), word[: r.randrange(1, 9)]])
            elif kind < 0.85:
                a, b = r.choice(RANGES)
                word = "".join(chr(r.randint(a, b)) for _ in range(r.randrange(1, 6)))
            elif kind < 0.93:
                word = r.choice(["1", "42", "3.14", "1,000,000", "٣٤", "x" * r.randrange(1, 130), "!" * r.randrange(1, 5), "\u0301", "é", "e\u0301", "ſ's", "I'S", "'ſ"])
            else:
                word = r.choice(SPECIAL)
            text += word + r.choice(SPACES)
        yield text


out, n = pathlib.Path(sys.argv[1]), int(sys.argv[2])
out.mkdir(parents=True, exist_ok=True)
every = dict(tokenizers(n >= 1000))
for path in sys.argv[3:]:  # tokenizers of others, to be compared too
    every[pathlib.Path(path).stem] = Tokenizer.from_file(path)
for name, t in every.items():
    t.no_padding(), t.no_truncation()
    (out / f"{name}.json").write_text(json.dumps(json.loads(t.to_str()), ensure_ascii=False, separators=(",", ":")), encoding="utf-8")
with open(out / "texts.jsonl", "w", encoding="utf-8") as f:
    for text in texts(n):
        f.write(json.dumps({"text": text, "tokens": {name: t.encode(text).ids for name, t in every.items()}}, separators=(",", ":")) + "\n")
