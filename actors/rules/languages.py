"""The languages that a status can have: ISO 639-1, and those of ISO 639-3 that people post in.

Regional forms are accepted if clients offer them because they are written differently. Of other forms the language is
taken.
"""

TWO_LETTERS = frozenset(
    """
    aa ab ae af ak am an ar as av ay az ba be bg bi bm bn bo br bs ca ce ch co cr cs cu cv cy da de dv dz ee el en eo es
    et eu fa ff fi fj fo fr fy ga gd gl gn gu gv ha he hi ho hr ht hu hy hz ia id ie ig ii ik io is it iu ja jv ka kg ki
    kj kk kl km kn ko kr ks ku kv kw ky la lb lg li ln lo lt lu lv mg mh mi mk ml mn mr ms mt my na nb nd ne ng nl nn no
    nr nv ny oc oj om or os pa pi pl ps pt qu rm rn ro ru rw sa sc sd se sg sh si sk sl sm sn so sq sr ss st su sv sw ta
    te tg th ti tk tl tn to tr ts tt tw ty ug uk ur uz ve vi vo wa wo xh yi yo za zh zu
    """.split()  # noqa: SIM905 a table to be read, not 185 quotation marks
)
THREE_LETTERS = frozenset(
    """
    ace ach ada ady agq aii ain akk ale alt ang anp apc arc arn arp ars ary arz asa ast awa bal ban bar bas bcl bej bem
    bez bho bik bin bla bpy brx bua bug byn cbk cdo ceb cgg chk chm cho chr chy ckb cnr cop crh csb dak dar dav din dje
    doi dsb dua dum dyo dyu ebu efi egy enm ewo fan fil fon frc frm fro frp frr fur gaa gag gan gcf gcr gez gil gmh goh
    gom gor got grc gsw guc gur guz gwi hai hak haw hil hmn hne hsb hsn hup iba ibb ilo inh jam jbo jgo jmc jpr jrb kaa
    kab kac kaj kam kbd kcg kde kea kha khq kln kmb kmr koi kok kpe krc krl kru ksb ksf ksh kum lad lag lah lam ldn lez
    lfn lij lki lkt lld lmo lol lou lrc ltg lua lun luo lus luy lzh mad mag mai mak man mas mdf men mer mfe mgh mgo mic
    min mnc mni moh mos mrj mua mus mwl mwr myv mzn nan nap naq nds new nia niu nmg nnh nog non nqo nso nus nwc nyn pag
    pam pap pau pcd pcm pdc pdt pfl pms pnb pnt prg pro quc raj rap rar rgn rif rmy rof rom rue rup rwk sad sah sam saq
    sas sat sba sbp scn sco sdh see seh ses sga shi shn sid sjn sly sma smj smn sms snk srn stq suk sux swb syc syr szl
    tcy tem teo ter tet tig tiv tlh tli tly tok tpi trv tsd tum tvl twq tyv tzm udm uga umb vai vec vep vls vmf vot vro
    vun wae wal war was wbp wuu xal xmf xog yap yav ybb yue zap zba zbl zea zgh zza
    """.split()  # noqa: SIM905 as above
)
REGIONAL = frozenset({"zh-CN", "zh-HK", "zh-TW", "zh-YUE", "pt-BR", "pt-PT"})

LANGUAGES = TWO_LETTERS | THREE_LETTERS | REGIONAL
_BY_LOWER_CASE = {code.lower(): code for code in LANGUAGES}


def language_code(given: str | None) -> str | None:
    """Return the code of a language as it is stored. None if it is unknown; then the author's default applies."""
    if not given:
        return None
    code = given.strip().replace("_", "-").lower()
    return _BY_LOWER_CASE.get(code) or _BY_LOWER_CASE.get(code.partition("-")[0])
